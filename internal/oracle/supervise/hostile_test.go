package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestAMarkerOfOthersIsNoProof: whoever may make or link files on the volume would let a run delete the database of
// others.
func TestAMarkerOfOthersIsNoProof(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(marker, elsewhere string) error
		says   string
		asRoot bool
		isOurs bool
	}{
		"of this user":     {func(string, string) error { return nil }, "", false, true},
		"of a stranger":    {func(m, _ string) error { return os.Chown(m, 3000, 3000) }, "belongs to user 3000", true, false},
		"of root":          {func(m, _ string) error { return os.Chown(m, 0, 0) }, "", true, true},
		"a second name":    {func(m, e string) error { return os.Link(m, e) }, "second name", false, false},
		"a link":           {func(m, e string) error { return errors.Join(os.Rename(m, e), os.Symlink(e, m)) }, "no plain file", false, false},
		"a moved file":     {func(m, e string) error { return errors.Join(os.Rename(m, e), os.Rename(e, m)) }, "", false, true},
		"a marker and not": {func(m, _ string) error { return os.WriteFile(m, []byte("x"), 0o600) }, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.asRoot && os.Getuid() != 0 {
				t.Skip("only root gives files away")
			}
			i := newImage(t)
			i.existing()
			i.mark(ownDatabase{SID: "ORCLCDB", Created: true})
			if err := tc.change(filepath.Join(i.data, MarkerFile), filepath.Join(i.base, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			found, err := i.o.foreign()
			if err != nil || (found == "") != tc.isOurs || !strings.Contains(found, tc.says) {
				t.Errorf("foreign is %q, %v; want %q", found, err, tc.says)
			}
			if !tc.isOurs {
				i.fails(runfile.FailureForeignFiles, "existingDatabase to Use")
			}
			if left, _ := filepath.Glob(filepath.Join(i.data, tryWritePrefix+"*")); len(left) > 0 {
				t.Errorf("left behind %v", left)
			}
		})
	}
}

// TestTheHeartbeatIsWrittenIntoNoFileOfOthers: it is written in place, and somebody gives a datafile its name.
func TestTheHeartbeatIsWrittenIntoNoFileOfOthers(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(from, to string) error{"a second name": os.Link, "a link": os.Symlink} {
		i := newImage(t)
		i.existing()
		file := filepath.Join(i.data, "ORCLCDB", "system01.dbf")
		if err := leave(file, filepath.Join(i.data, HeartbeatFile)); err != nil {
			t.Fatal(err)
		}
		i.o.UseExisting, i.o.HeartbeatInterval = true, time.Millisecond
		i.fails(runfile.FailureAccessDenied, HeartbeatFile)
		if text := i.read(file); text != "precious" {
			t.Errorf("%s: the datafile has %q", name, text)
		}
	}
}

// TestAFolderOfTheVolumeThatIsALinkLeadsNowhere: what a run corrects on a volume stays on it.
func TestAFolderOfTheVolumeThatIsALinkLeadsNowhere(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	outside := filepath.Join(i.base, "outside", listenerFile)
	const text = "LISTENER = (ADDRESS = (PROTOCOL = TCP)(HOST = another)(PORT = 1521))\n"
	i.write(outside, 0o640, text)
	i.write(filepath.Join(i.data, configFolder, "keep"), 0o640, "")
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(i.data, configFolder, i.o.SID)); err != nil {
		t.Fatal(err)
	}
	mended, err := i.o.withDefaults().mendNetFiles("")
	if err != nil || len(mended) > 0 || i.read(outside) != text {
		t.Errorf("mended %v, %v; the file has %q", mended, err, i.read(outside))
	}
	if err := replaceKeepingMode(i.data, filepath.Join(configFolder, i.o.SID, listenerFile), []byte("x")); err == nil || i.read(outside) != text {
		t.Errorf("%v; the file has %q", err, i.read(outside))
	}
}
