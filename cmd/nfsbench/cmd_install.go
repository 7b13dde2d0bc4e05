package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// installCommand copies the programs into a volume.
type installCommand struct {
	app     *app
	to      string
	self    func() (string, error) // path of this program
	oraload string                 // path of the Oracle loader in the image
}

// newInstallCommand puts the programs where containers of other images see them.
func newInstallCommand(a *app) *cobra.Command {
	c := &installCommand{app: a, self: os.Executable}
	cmd := &cobra.Command{
		Use:   "install --to DIR",
		Short: "Copies nfsbench and oraload into a directory, for containers of other images",
		Long: `install copies this program as nfsbench, and the Oracle loader of its image as
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
		return badInput(errors.New("--to is required: the directory to copy to"))
	}
	self, err := c.self()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	// The image is looked at first: half an installation helps nobody.
	if _, err := os.Stat(c.oraload); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this image has no Oracle loader %s: it was built with ORALOAD=no; build it again without (hack/image/build.sh) or use a released image", c.oraload)
	}
	for _, p := range []struct{ from, name string }{{self, "nfsbench"}, {c.oraload, "oraload"}} {
		if err := installProgram(p.from, filepath.Join(c.to, p.name)); err != nil {
			return fmt.Errorf("--to %s: %w", c.to, err)
		}
	}
	c.app.log.Info("Installed nfsbench and oraload", "directory", c.to)
	return nil
}

// installProgram copies a program, which everybody may then run: other
// containers have other users. Who runs an older copy keeps it.
func installProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755) // whatever the umask says
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to+".new"))
	}
	return nil
}
