package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/cli"
)

func TestInstallCopiesBothProgramsForEverybody(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"self": "this program", "loader": "the loader"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &installCommand{
		app: &app{log: slog.New(slog.DiscardHandler)}, to: to, oraload: from + "/loader",
		self: func() (string, error) { return from + "/self", nil },
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for range 2 { // a second time over the first
		if err := c.run(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"nfsbench": "this program", "oraload": "the loader"} {
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(to + "/*.new"); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

func TestInstallSaysWhenTheImageHasNoLoader(t *testing.T) {
	to := t.TempDir()
	var out, errOut strings.Builder
	code := run([]string{"install", "--to", to, "--oraload", to + "/none"}, strings.NewReader(""), &out, &errOut)
	if code != cli.ExitFailed || !strings.Contains(errOut.String(), "ORALOAD=no") {
		t.Errorf("code %d: %s", code, errOut.String())
	}
	if got, _ := os.ReadDir(to); len(got) > 0 {
		t.Errorf("half an installation: %v", got)
	}
	errOut.Reset()
	if code := run([]string{"install"}, strings.NewReader(""), &out, &errOut); code != cli.ExitBadInput || !strings.Contains(errOut.String(), "--to is required") {
		t.Errorf("code %d: %s", code, errOut.String())
	}
	c := &installCommand{app: &app{log: slog.New(slog.DiscardHandler)}, to: to + "/none", oraload: "/dev/null", self: os.Executable}
	if err := c.run(); err == nil || !strings.Contains(err.Error(), "--to "+to) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// owners is a directory tree with a chown that is only written down.
func owners(t *testing.T, refuse error) (c *permissionsCommand, log *strings.Builder, changed *[]string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{".nfsbench-database", "ORCLCDB/system01.dbf", ".snapshot/hourly/system01.dbf", "lost+found/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := ""
		if name == ".nfsbench-database" {
			text = `{"databases":[{"sid":"ORCLCDB"}]}`
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	log, changed = &strings.Builder{}, &[]string{}
	c = &permissionsCommand{app: &app{log: slog.New(slog.NewTextHandler(log, nil))}, directories: []string{dir}, owner: "54321:54322"}
	c.chown = func(f *os.File, uid, gid int) error {
		if uid != 54321 || gid != 54322 {
			t.Errorf("%s is given to %d:%d", f.Name(), uid, gid)
		}
		rel, _ := filepath.Rel(dir, f.Name())
		*changed = append(*changed, rel)
		return refuse
	}
	return c, log, changed
}

func TestPermissionsChangesTheVolumeButNotTheFoldersOfTheStorage(t *testing.T) {
	c, log, changed := owners(t, nil)
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(*changed)
	if got, want := strings.Join(*changed, " "), ". .nfsbench-database ORCLCDB ORCLCDB/system01.dbf link"; got != want {
		t.Errorf("changed %q, want %q", got, want)
	}
	if !strings.Contains(log.String(), "changed=5") {
		t.Errorf("log %s", log)
	}
}

// TestPermissionsChangesNoFilesOfOthers: people's files on a claim must not become the
// files of user 54321, whatever they are.
func TestPermissionsChangesNoFilesOfOthers(t *testing.T) {
	for _, name := range []string{"PG_VERSION", "ORCLCDB/system01.dbf", ".bashrc", "home/anna/thesis.tex"} {
		c, log, changed := owners(t, nil)
		c.directories = []string{t.TempDir()}
		path := filepath.Join(c.directories[0], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		entry, _, _ := strings.Cut(name, "/")
		if err := c.run(); err != nil || len(*changed) > 0 || !strings.Contains(log.String(), "entry="+entry) {
			t.Errorf("%s: changed %v, %v; log %s", name, *changed, err, log)
		}
	}
}

// TestPermissionsChangesNoDatabaseThatTheMarkerDoesNotName.
func TestPermissionsChangesNoDatabaseThatTheMarkerDoesNotName(t *testing.T) {
	c, log, changed := owners(t, nil)
	if err := os.WriteFile(filepath.Join(c.directories[0], "payroll.dbf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.run(); err != nil || len(*changed) > 0 || !strings.Contains(log.String(), "entry=payroll.dbf") {
		t.Errorf("changed %v, %v; log %s", *changed, err, log)
	}
}

// TestPermissionsGoesOnWithTheNextVolume, whatever it may not change of one.
func TestPermissionsGoesOnWithTheNextVolume(t *testing.T) {
	c, _, changed := owners(t, nil)
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.directories = append([]string{foreign}, c.directories...)
	if err := c.run(); err != nil || len(*changed) != 5 {
		t.Errorf("changed %v, %v", *changed, err)
	}
}

func TestPermissionsChangesAnEmptyVolume(t *testing.T) {
	c, log, changed := owners(t, nil)
	for _, name := range []string{".nfsbench-database", "ORCLCDB", "link"} {
		if err := os.RemoveAll(filepath.Join(c.directories[0], name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.run(); err != nil || strings.Join(*changed, " ") != "." {
		t.Errorf("changed %v, %v; log %s", *changed, err, log)
	}
}

func TestPermissionsLeavesAloneWhatIsRightAlready(t *testing.T) {
	c, _, changed := owners(t, nil)
	c.owner = strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())
	if err := c.run(); err != nil || len(*changed) > 0 {
		t.Errorf("changed %v, %v", *changed, err)
	}
}

func TestPermissionsOnlyWarnsWhenTheStorageRefuses(t *testing.T) {
	for name, refusal := range map[string]error{"root squash": syscall.EPERM, "read-only": syscall.EROFS, "not even looking": syscall.EACCES} {
		c, log, _ := owners(t, &os.PathError{Op: "lchown", Path: "x", Err: refusal})
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "root squash") {
			t.Errorf("%s: log %s", name, log)
		}
	}
	c, _, _ := owners(t, syscall.EIO)
	if err := c.run(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails is no refusal: %v", err)
	}
}

func TestPermissionsTakesNumbersOnly(t *testing.T) {
	for _, owner := range []string{"oracle:oinstall", "54321", "54321:", "-1:0", "1:2:3", "4294967295:1"} {
		var errOut strings.Builder
		code := run([]string{"permissions", "--directory", t.TempDir(), "--owner", owner}, strings.NewReader(""), &strings.Builder{}, &errOut)
		if code != cli.ExitBadInput || !strings.Contains(errOut.String(), "two numbers") {
			t.Errorf("%s: code %d, %s", owner, code, errOut.String())
		}
	}
}
