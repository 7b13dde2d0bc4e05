package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
)

// permissionsCommand gives a directory to a user.
type permissionsCommand struct {
	app       *app
	directory string
	owner     string
	sid       string
	existing  bool
	chown     func(path string, uid, gid int) error
}

// newPermissionsCommand makes a volume usable for the user of a database image.
func newPermissionsCommand(a *app) *cobra.Command {
	c := &permissionsCommand{app: a, chown: os.Lchown}
	cmd := &cobra.Command{
		Use:   "permissions --directory DIR --owner UID:GID",
		Short: "Gives a directory and what is in it to a user, as far as the storage permits",
		Long: `permissions gives a directory, and everything in it that belongs to somebody
else, to a user. Snapshot directories and what links point to are left alone.

Where there is a database that was not created for a benchmark nothing is
changed, unless --use-existing says so.

Storage that squashes root refuses this, and is right to: then a warning says
so, and the exit code is 0, for the directory may well be usable as it is. The
container that uses it finds out.`,
		Example: `  nfsbench permissions --directory /opt/oracle/oradata --owner 54321:54321`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.run() },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.directory, "directory", "", "directory to give away (required)")
	flags.StringVar(&c.owner, "owner", "54321:54321", "user and group, as numbers")
	flags.StringVar(&c.sid, "sid", "", "SID of the database whose volume it is")
	flags.BoolVar(&c.existing, "use-existing", false, "also where a database is that was not created for a benchmark")
	return cmd
}

func (c *permissionsCommand) run() error {
	if c.directory == "" {
		return badInput(errors.New("--directory is required: the directory to give away"))
	}
	uid, gid, err := parseOwner(c.owner)
	if err != nil {
		return badInput(err)
	}
	if name, err := supervise.Foreign(c.directory, c.sid); err == nil && name != "" && !c.existing {
		c.app.log.Warn("Nothing was changed: there is a database that was not created for a benchmark", "directory", c.directory, "folder", name)
		return nil
	}
	changed, err := c.chownTree(uid, gid)
	switch {
	case isRefused(err):
		c.app.log.Warn("The storage does not let root give files away (root squash, or a read-only export): "+
			"what matters is that the export belongs to the user of the database, or that it may write there",
			slog.String("directory", c.directory), slog.String("owner", c.owner), slog.Int("changed", changed), slog.Any("error", err))
		return nil
	case err != nil:
		return fmt.Errorf("--directory %s: %w", c.directory, err)
	}
	c.app.log.Info("Gave the directory to its user", "directory", c.directory, "owner", c.owner, "changed", changed)
	return nil
}

// parseOwner reads uid:gid.
func parseOwner(text string) (uid, gid int, err error) {
	user, group, ok := strings.Cut(text, ":")
	u, uerr := strconv.ParseUint(user, 10, 31)
	g, gerr := strconv.ParseUint(group, 10, 31)
	if !ok || uerr != nil || gerr != nil {
		return 0, 0, fmt.Errorf("--owner is %q; write two numbers, such as 54321:54321", text)
	}
	return int(u), int(g), nil
}

// chownTree changes the owner of everything that has another one, the directory
// first, and reports the progress. What is right already is only looked at.
func (c *permissionsCommand) chownTree(uid, gid int) (changed int, err error) {
	err = filepath.WalkDir(c.directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != c.directory && isOfStorage(d.Name()) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) == uid && int(s.Gid) == gid {
			return nil
		}
		if err := c.chown(path, uid, gid); err != nil {
			return err
		}
		changed++
		return nil
	})
	return changed, err
}

// isOfStorage names the folders that the storage itself shows in an export.
func isOfStorage(name string) bool {
	return name == ".snapshot" || name == ".snapshots" || name == ".zfs" || name == "lost+found"
}

// isRefused says that the storage said no.
func isRefused(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS)
}
