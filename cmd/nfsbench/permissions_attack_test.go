package main

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	database = 54321 // the user of the database
	stranger = 3000
	victim   = 2000
)

// volume is a volume that several use. Its files belong to the users of the test.
type volume struct {
	t   *testing.T
	dir string
	log strings.Builder
}

// newVolume makes the directory of a volume, which owner may write to with mode.
func newVolume(t *testing.T, owner int, mode os.FileMode) *volume {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	v := &volume{t: t, dir: filepath.Join(t.TempDir(), "volume")}
	v.do(os.Mkdir(v.dir, 0o700), os.Chown(v.dir, owner, owner), os.Chmod(v.dir, mode))
	return v
}

func (v *volume) do(errs ...error) {
	v.t.Helper()
	if err := errors.Join(errs...); err != nil {
		v.t.Fatal(err)
	}
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// put makes a file of a user.
func (v *volume) put(name, text string, user int) {
	v.t.Helper()
	v.do(os.MkdirAll(filepath.Dir(v.path(name)), 0o755), os.WriteFile(v.path(name), []byte(text), 0o600),
		os.Chown(v.path(name), user, user))
}

// letWrite gives a user write access to the volume by a POSIX ACL. Its mask becomes the bits of the group.
func (v *volume) letWrite(user uint32) {
	v.t.Helper()
	acl := binary.LittleEndian.AppendUint32(nil, 2) // version
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 7, ^uint32(0)}, {0x02, 7, user}, {0x04, 5, ^uint32(0)}, {0x10, 7, ^uint32(0)}, {0x20, 5, ^uint32(0)}} {
		acl = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(acl, e.tag), e.perm)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	err := unix.Setxattr(v.dir, "system.posix_acl_access", acl, 0)
	if errors.Is(err, unix.ENOTSUP) {
		v.t.Skip("the file system of the temporary directory has no ACLs")
	}
	v.do(err)
}

// give runs nfsbench permissions.
func (v *volume) give() {
	v.t.Helper()
	c := &permissionsCommand{
		app: &app{log: slog.New(slog.NewTextHandler(&v.log, nil))}, directories: []string{v.dir}, owner: "54321:54321",
	}
	v.do(c.run())
}

func (v *volume) expect(path string, owner int) {
	v.t.Helper()
	info, err := os.Lstat(path)
	v.do(err)
	if got := int(info.Sys().(*syscall.Stat_t).Uid); got != owner { //nolint:errcheck,forcetypeassert // Linux
		v.t.Errorf("%s belongs to user %d, want %d; log %s", path, got, owner, &v.log)
	}
}

const mark = `{"databases":[{"sid":"ORCLCDB"}]}`

// TestAMarkerOfOthersGivesNoFileAway: a tenant makes the file that says that a run has created a database here, and
// lets root change the owner of what others have on the volume.
func TestAMarkerOfOthersGivesNoFileAway(t *testing.T) {
	for name, tc := range map[string]struct {
		owner int
		mode  os.FileMode
		mark  func(v *volume)
	}{
		"of a stranger": {0, 0o777 | os.ModeSticky, func(v *volume) { v.put(".nfsbench-database", mark, stranger) }},
		"of a stranger, where nobody else writes now": {0, 0o755, func(v *volume) { v.put(".nfsbench-database", mark, stranger) }},
		"of the user, where others may have moved it": {0, 0o777, func(v *volume) { v.put(".nfsbench-database", mark, database) }},
		"in a directory of a stranger":                {stranger, 0o755, func(v *volume) { v.put(".nfsbench-database", mark, database) }},
		"in a directory of another group": {0, 0o775, func(v *volume) {
			v.do(os.Chown(v.dir, 0, stranger))
			v.put(".nfsbench-database", mark, database)
		}},
		"of the user, where an ACL lets a stranger write": {0, 0o755, func(v *volume) {
			v.put(".nfsbench-database", mark, database)
			v.letWrite(stranger)
		}},
		"with a second name": {0, 0o755, func(v *volume) {
			v.put("ORCLCDB/notes", mark, database)
			v.do(os.Link(v.path("ORCLCDB/notes"), v.path(".nfsbench-database")))
		}},
		"behind a link": {0, 0o755, func(v *volume) {
			v.put("ORCLCDB/notes", mark, database)
			v.do(os.Symlink("ORCLCDB/notes", v.path(".nfsbench-database")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t, tc.owner, tc.mode)
			v.put("ORCLCDB/users01.txt", "secret", 0)
			v.put("other-team/users01.txt", "secret", victim)
			tc.mark(v)
			v.give()
			v.expect(v.path("ORCLCDB/users01.txt"), 0)
			v.expect(v.path("other-team/users01.txt"), victim)
			v.expect(v.dir, tc.owner)
			if !strings.Contains(v.log.String(), ".nfsbench-database") {
				t.Errorf("log %s", &v.log)
			}
		})
	}
}

// TestOnlyFilesOfRootAndOfTheUserAreGivenAway, where the marker is one of ours, too.
func TestOnlyFilesOfRootAndOfTheUserAreGivenAway(t *testing.T) {
	v := newVolume(t, database, 0o755)
	shadow := filepath.Join(filepath.Dir(v.dir), "shadow") // of the same file system, outside of the volume
	v.do(os.WriteFile(shadow, nil, 0o600))
	v.put(".nfsbench-database", mark, 0)
	v.put("ORCLCDB/restored.txt", "", 0)
	v.put("ORCLCDB/theirs.txt", "", victim)
	v.do(os.Link(shadow, v.path("ORCLCDB/shadow")), os.Symlink(shadow, v.path("link")),
		syscall.Mkfifo(v.path("fifo"), 0o600)) // stands for a device
	v.give()
	for name, owner := range map[string]int{
		"": database, ".nfsbench-database": database, "ORCLCDB": database, "ORCLCDB/restored.txt": database,
		"link": database, "ORCLCDB/theirs.txt": victim, "ORCLCDB/shadow": 0, "../shadow": 0, "fifo": 0,
	} {
		v.expect(v.path(name), owner)
	}
	if !strings.Contains(v.log.String(), "changed=4") || !strings.Contains(v.log.String(), "does not change") {
		t.Errorf("log %s", &v.log)
	}
}

// TestAnEmptyVolumeIsGivenWithoutWhatOthersLeaveInIt: the names of our own files make no volume full, and may be
// those of files of others.
func TestAnEmptyVolumeIsGivenWithoutWhatOthersLeaveInIt(t *testing.T) {
	v := newVolume(t, stranger, 0o777)
	shadow := filepath.Join(filepath.Dir(v.dir), "shadow")
	v.do(os.WriteFile(shadow, nil, 0o600), os.Link(shadow, v.path(".nfsbench-heartbeat")))
	v.put(".nfsbench-write-1", "", victim)
	v.give()
	v.expect(v.dir, database)
	v.expect(shadow, 0)
	v.expect(v.path(".nfsbench-write-1"), victim)
}

// TestAFileThatComesToAnEmptyVolumeIsNotGivenAway: whoever may write to the volume, and to a directory with a file of
// root, moves it there when the volume has been found empty.
func TestAFileThatComesToAnEmptyVolumeIsNotGivenAway(t *testing.T) {
	v := newVolume(t, stranger, 0o755)
	c := &permissionsCommand{
		app: &app{log: slog.New(slog.NewTextHandler(&v.log, nil))}, directories: []string{v.dir}, owner: "54321:54321",
	}
	c.chown = func(f *os.File, uid, gid int) error {
		if f.Name() == v.dir {
			v.put("secret", "", 0)
		}
		return syscall.Fchownat(int(f.Fd()), "", uid, gid, unix.AT_EMPTY_PATH)
	}
	v.do(c.run())
	v.expect(v.dir, database)
	v.expect(v.path("secret"), 0)
}

// TestADirectoryThatIsSwappedForALinkLeadsNowhere: somebody does so while root walks over the volume.
func TestADirectoryThatIsSwappedForALinkLeadsNowhere(t *testing.T) {
	v := newVolume(t, database, 0o755)
	outside := filepath.Join(filepath.Dir(v.dir), "outside")
	v.put("../outside/file", "", 0)
	v.do(os.Chown(outside, 0, 0))
	v.put(".nfsbench-database", mark, database)
	v.put("ORCLCDB/file", "", 0)
	c := &permissionsCommand{
		app: &app{log: slog.New(slog.NewTextHandler(&v.log, nil))}, directories: []string{v.dir}, owner: "54321:54321",
	}
	c.chown = func(f *os.File, uid, gid int) error {
		if f.Name() == v.path("ORCLCDB") { // it was looked at, and is entered next
			v.do(os.Rename(f.Name(), v.path("moved")), os.Symlink(outside, f.Name()))
		}
		return syscall.Fchownat(int(f.Fd()), "", uid, gid, unix.AT_EMPTY_PATH)
	}
	if err := c.run(); err == nil {
		t.Error("a folder that is a link now was entered")
	}
	v.expect(filepath.Join(outside, "file"), 0)
	v.expect(outside, 0)
	v.expect(v.path("moved"), database)
}
