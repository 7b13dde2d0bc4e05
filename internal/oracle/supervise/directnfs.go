package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// The ways to place or remove the library.
const (
	methodMake = "make"
	methodCopy = "copy"
)

// derivedImage is the advice for an image without Direct NFS.
const derivedImage = "COPY libnfsodm.so into $ORACLE_HOME/lib (of the same release), and " +
	"RUN chown root:oinstall $ORACLE_HOME/bin/oradism && chmod 4750 $ORACLE_HOME/bin/oradism"

// prepareDirectNFS switches Direct NFS of an Oracle home on or off, as requested. An empty home means that none was
// found.
func (o Options) prepareDirectNFS(ctx context.Context, home string) (runfile.DirectNFSLibrary, error) {
	l := runfile.DirectNFSLibrary{Wanted: o.DirectNFS}
	switch {
	case home != "":
		l, err := o.switchDirectNFS(ctx, home)
		if err == nil && o.DirectNFS {
			err = cmp.Or(o.checkOradism(home, &l), o.eachVolume(Options.checkMountTable))
		}
		return l, err
	case o.DirectNFS:
		return l, o.noHome()
	default:
		o.Log.Warn("No Oracle home was found: whether Direct NFS is off is unknown", "looked", o.ProductRoot)
		return l, nil
	}
}

// switchDirectNFS places or removes the library of Direct NFS in the home, and
// returns the method. `make dnfs_on` only copies the library, so a copy is as
// good in an image without make.
func (o Options) switchDirectNFS(ctx context.Context, home string) (runfile.DirectNFSLibrary, error) {
	l := runfile.DirectNFSLibrary{Wanted: o.DirectNFS}
	odm := filepath.Join(home, "rdbms", "lib", "odm")
	here := libraries(odm)
	if (len(here) > 0) == o.DirectNFS {
		l.Path = first(here)
		return l, nil
	}
	source := first(libraries(filepath.Join(home, "lib")))
	if o.DirectNFS && source == "" {
		return l, noLibrary(home)
	}
	if o.make(ctx, home) && (len(libraries(odm)) > 0) == o.DirectNFS {
		l.Method, l.Path = methodMake, first(libraries(odm))
		return l, nil
	}
	var err error
	if o.DirectNFS {
		if err = os.MkdirAll(odm, 0o755); err == nil {
			err = Install(source, filepath.Join(odm, filepath.Base(source)))
		}
	} else {
		err = removeAll(libraries(odm))
	}
	if err != nil {
		return l, oracle.Failf(runfile.FailureDirectNFSMissing,
			"%v: Direct NFS cannot be switched in %s; the container must run as the owner of the Oracle home (54321) and its "+
				"file system must be writable", err, home)
	}
	l.Method, l.Path = methodCopy, first(libraries(odm))
	return l, nil
}

func (o Options) noHome() error {
	return oracle.Failf(runfile.FailureDirectNFSMissing,
		"the image sets no ORACLE_HOME and has no Oracle home below %s, so Direct NFS cannot be switched on: use an "+
			"image of the database, or set protocol.client to Kernel", o.ProductRoot)
}

func noLibrary(home string) error {
	return oracle.Failf(runfile.FailureDirectNFSMissing,
		"the image has no libnfsodm*.so in %s/lib, which Direct NFS needs: use an image with the whole Oracle home, such "+
			"as container-registry.oracle.com/database/enterprise, or set protocol.client to Kernel", home)
}

func first(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// libraries lists the files of Direct NFS in a folder: libnfsodm19.so, or
// libnfsodm.so from 21c on.
func libraries(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "libnfsodm*.so")) // none where the name of the folder is a bad pattern
	slices.Sort(found)
	return found
}

// make runs Oracle's own switch, if the image has it. Only the resulting files
// show whether it worked.
func (o Options) make(ctx context.Context, home string) bool {
	program := o.program("make")
	dir := filepath.Join(home, "rdbms", "lib")
	if _, err := os.Stat(filepath.Join(dir, "ins_rdbms.mk")); err != nil || !strings.Contains(program, "/") {
		return false
	}
	goal := "dnfs_off"
	if o.DirectNFS {
		goal = "dnfs_on"
	}
	cmd := exec.CommandContext(ctx, program, "-f", "ins_rdbms.mk", goal) //nolint:gosec // the image's own make
	cmd.Dir, cmd.Env = dir, append(append([]string{}, o.Env...), "ORACLE_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		o.Log.Warn("The image's make did not switch Direct NFS; doing what it would have done", "goal", goal, "error", err,
			"output", newRedactor(o.Secrets).clean(clip(string(out))))
		return false
	}
	return true
}

// Install copies a program or library and makes it executable for everybody,
// because other containers run as other users. Processes that run an older copy
// keep it.
func Install(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	dir, name := filepath.Dir(to), filepath.Base(to)
	if err := shareddir.Remove(dir, name+".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := shareddir.OpenOnly(dir, name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755) // regardless of the umask
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = shareddir.Rename(dir, name+".new", name)
	}
	if err != nil {
		return errors.Join(err, shareddir.Remove(dir, name+".new"))
	}
	return nil
}

func removeAll(paths []string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkOradism checks whether Direct NFS can use its root helper. Without it
// Oracle falls back to the kernel's client, with a message only in the alert
// log.
func (o Options) checkOradism(home string, l *runfile.DirectNFSLibrary) error {
	path := filepath.Join(home, "bin", "oradism")
	info, err := os.Stat(path)
	if err != nil {
		return oracle.Failf(runfile.FailureOradism,
			"%v: Direct NFS needs $ORACLE_HOME/bin/oradism, owned by root and setuid; derive an image: %s", err, derivedImage)
	}
	l.OradismMode = modeText(info.Mode())
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("stat %s: no owner", path)
	}
	owner := int64(sys.Uid)
	if told, ok := o.Owners[path]; ok {
		owner = told
	}
	l.OradismOwner = &owner
	switch {
	case owner != 0 || info.Mode()&fs.ModeSetuid == 0:
		return oracle.Failf(runfile.FailureOradism,
			"%s is %s and owned by user %d: Direct NFS needs it owned by root and setuid, or Oracle silently uses the "+
				"kernel's NFS client; derive an image with RUN chown root:oinstall %s && chmod 4750 %s", path, l.OradismMode,
			owner, path, path)
	case unix.Access(path, unix.X_OK) != nil:
		return oracle.Failf(runfile.FailureOradism,
			"%s is %s and user %d of this container may not execute it: run the container in the group that owns it "+
				"(oinstall, 54321)", path, l.OradismMode, os.Getuid())
	case o.noNewPrivileges():
		return oracle.Failf(runfile.FailureOradism,
			"the container runs with allowPrivilegeEscalation: false, with which no program becomes root: Direct NFS needs "+
				"the setuid program %s; allow privilege escalation for the database container, or set protocol.client to Kernel",
			path)
	}
	return nil
}

// modeText formats a mode like ls, which Go does not do for setuid.
func modeText(m fs.FileMode) string {
	text := []byte("-" + m.Perm().String()[1:])
	if m&fs.ModeSetuid != 0 {
		text[3] = 's'
		if m&0o100 == 0 {
			text[3] = 'S'
		}
	}
	return string(text)
}

// noNewPrivileges reports whether the kernel ignores setuid bits for this process.
func (o Options) noNewPrivileges() bool {
	raw, err := shareddir.ReadStart(filepath.Join(o.ProcDir, "self"), "status", maxProcFile)
	return err == nil && regexp.MustCompile(`(?m)^NoNewPrivs:\s*1\s*$`).Match(raw)
}
