package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
)

// installCommand copies the programs into a volume.
type installCommand struct {
	app     *app
	to      string
	self    func() (string, error) // path of this program
	oraload string                 // path of the Oracle loader in the image
}

// newInstallCommand returns the install command, which copies the programs to a volume for containers of other images.
func newInstallCommand(a *app) *cobra.Command {
	c := &installCommand{app: a, self: os.Executable}
	cmd := &cobra.Command{
		Use:   "install --to DIR",
		Short: "Copy nfsbench and oraload into a directory, for containers of other images",
		Long: `Copy this program as nfsbench, and the Oracle loader of its image as
oraload, into a directory. The operator runs it in an init container: the
programs then run inside the user's own database image, from a shared volume.`,
		Example: `  nfsbench install --to /opt/nfsbench`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.run() },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&c.to, "to", "", "directory to copy to, which must exist (required)")
	fs.StringVar(&c.oraload, "oraload", "/oraload", "the Oracle loader of this image")
	return cmd
}

func (c *installCommand) run() error {
	if c.to == "" {
		return cli.BadInputf("--to is required: the directory to copy to")
	}
	self, err := c.self()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	// Check the image first, to avoid half an installation.
	if _, err := os.Stat(c.oraload); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this image has no Oracle loader %s: it was built with ORALOAD=no; build it again without "+
			"(hack/image/build.sh) or use a released image", c.oraload)
	}
	for _, p := range []struct{ from, name string }{{self, "nfsbench"}, {c.oraload, "oraload"}} {
		if err := supervise.Install(p.from, filepath.Join(c.to, p.name)); err != nil {
			return fmt.Errorf("--to %s: %w", c.to, err)
		}
	}
	c.app.log.Info("Installed nfsbench and oraload", "directory", c.to)
	return nil
}

// permissionsCommand changes the owner of a directory.
type permissionsCommand struct {
	app         *app
	directories []string
	owner       string
	chown       func(f *os.File, uid, gid int) error // nil = by the kernel
}

// newPermissionsCommand returns the permissions command, which gives a volume to the user of a database image.
func newPermissionsCommand(a *app) *cobra.Command {
	c := &permissionsCommand{app: a}
	cmd := &cobra.Command{
		Use:   "permissions --directory DIR [--directory DIR] --owner UID:GID",
		Short: "Change the owner of directories and their contents, as far as the storage permits",
		Long: `Change the owner of an empty directory, or of a directory that nfsbench created a
database in, with the files in it that belong to root or to the user of --owner, and have no
second name (a hard link). Snapshot directories and the targets of links do not change.

If the directory holds files that were not created for a benchmark, nothing
changes, and a warning names one of them. Of a database that nfsbench created, the
file .nfsbench-database in the directory names the SID and the DBID. It counts if root or that
user owns it, it has no second name, and nobody else can write to the directory.

Storage that squashes root refuses the change. The command then warns, and its exit
code is 0, because the directory may be usable without it. The container that uses
the directory checks that.`,
		Example: `  nfsbench permissions --directory /opt/oracle/oradata --owner 54321:54321`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.run() },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&c.directories, "directory", nil, "directory whose owner to change, once or more (required)")
	flags.StringVar(&c.owner, "owner", "54321:54321", "user and group, as numbers")
	return cmd
}

func (c *permissionsCommand) run() error {
	if len(c.directories) == 0 || slices.Contains(c.directories, "") {
		return cli.BadInputf("--directory is required: the directory whose owner to change")
	}
	uid, gid, err := parseOwner(c.owner)
	if err != nil {
		return cli.BadInput(err)
	}
	for _, d := range c.directories {
		if err := c.give(d, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// give changes the owner of one directory.
func (c *permissionsCommand) give(directory string, uid, gid int) error {
	given, err := supervise.Gift{UID: uid, GID: gid, Chown: c.chown}.Give(directory)
	switch {
	case err == nil && given.Foreign != "":
		c.app.log.Warn("The owner of the files does not change, because it is not certain that a run created them",
			"directory", directory, "entry", given.Foreign)
		return nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS):
		c.app.log.Warn("The storage does not let root give files away (root squash, or a read-only export): "+
			"what matters is that the export belongs to the user of the database, or that it may write there",
			slog.String("directory", directory), slog.String("owner", c.owner), slog.Int("changed",
				given.Changed), slog.Any("error", err))
		return nil
	case err != nil:
		return fmt.Errorf("--directory %s: %w", directory, err)
	}
	if given.Left != "" {
		c.app.log.Warn("What belongs to others, has a second name or is a device does not change", "entry", given.Left)
	}
	c.app.log.Info("Gave the directory to its user", "directory", directory, "owner", c.owner, "changed", given.Changed)
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
