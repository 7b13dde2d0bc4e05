package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// token stands for a file that the collector may read and the loader may not.
const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjb2xsZWN0b3IifQ.SIGNATURE" //nolint:gosec // of nobody

// tokenFile is such a file.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everything is what the follower knows, and so what may be published.
func everything(t *testing.T, f *follower, errs ...error) string {
	t.Helper()
	raw, err := json.Marshal([]any{f.last, f.spans, f.load, string(f.tail.rest)})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + errors.Join(errs...).Error()
}

// holdsOf says how much of the token is in a text.
func holdsOf(text string) int {
	for n := len(token); n > 3; n-- {
		for i := 0; i+n <= len(token); i++ {
			if strings.Contains(text, token[i:i+n]) {
				return n
			}
		}
	}
	return 0
}

// TestALoaderCannotLetTheCollectorReadItsToken: the loader begins a line, and lets the collector read the rest from
// a file of the collector, by whatever name.
func TestALoaderCannotLetTheCollectorReadItsToken(t *testing.T) {
	for name, replace := range map[string]func(secret, path string) error{
		"a link":           os.Symlink,
		"a second name":    os.Link,
		"a copy of a line": func(_, path string) error { return os.WriteFile(path, []byte(token), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			secret, dir := tokenFile(t), t.TempDir()
			events := filepath.Join(dir, runfile.EventsFile)
			f := newFollower(dir)
			write := func(path, text string) {
				t.Helper()
				if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Rename(path, events)); err != nil {
					t.Fatal(err)
				}
			}
			write(events+".1", `{"span":"Fill","message":"`)
			_, _, err1 := f.readEvents()
			if err1 != nil {
				t.Fatal(err1)
			}
			if err := errors.Join(replace(secret, events+".2"), os.Rename(events+".2", events)); err != nil {
				t.Fatal(err)
			}
			_, _, err2 := f.readEvents()
			if err2 == nil {
				t.Error("the file was replaced, and nothing is said")
			}
			write(events+".3", strings.Repeat(" ", len(token)+30)+"\"}\n")
			_, _, err3 := f.readEvents()
			if n := holdsOf(everything(t, f, err2, err3)); n > 0 {
				t.Errorf("%d of %d bytes of the token are known", n, len(token))
			}
			if err3 == nil || !strings.Contains(err3.Error(), "replaced") || f.last != nil {
				t.Errorf("another file is followed: %v, %v", f.last, err3)
			}
		})
	}
}

// TestWhatCannotBeParsedIsNotQuoted: errors are published.
func TestWhatCannotBeParsedIsNotQuoted(t *testing.T) {
	dir := t.TempDir()
	f := newFollower(dir)
	for _, text := range []string{token, `{"span":"` + token + `"}`, `{"time":"` + token + `"}`, `{"percent":"` + token + `"}`} {
		l := loaderStub{t, dir}
		l.text(text + "\n")
		if err := os.WriteFile(filepath.Join(dir, runfile.LoadFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err1 := f.readEvents()
		err2 := f.readLoad(day)
		known := everything(t, f, err1, err2)
		if err1 == nil || text == token && err2 == nil || holdsOf(known) > 0 || strings.Contains(known, "invalid character") {
			t.Errorf("%s: %s", text, known)
		}
	}
	if len(f.spans) > 0 {
		t.Errorf("spans of no loader: %v", f.spans)
	}
}

// TestNoFileOfALoaderHangsTheCollector, or keeps it busy: what is read in one look is bounded.
func TestNoFileOfALoaderHangsTheCollector(t *testing.T) {
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	sparse := func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 4<<40))
	}
	for name, leave := range map[string]func(path string) error{
		"a FIFO":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a device":              link("/dev/zero"),
		"a folder":              func(path string) error { return os.Mkdir(path, 0o700) },
		"terabytes of zeros":    sparse,
		"the memory of its own": link("/proc/self/mem"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{runfile.EventsFile, runfile.LoadFile, JournalFile, ReadyFile, FinalFile} {
				if err := leave(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			f, j := newFollower(dir), &journal{dir: dir, name: JournalFile}
			memory.Bound(t, 4*runfile.MaxResultBytes, func() {
				_, _, err1 := f.readEvents()
				err2 := f.readLoad(day)
				_, err3 := j.read()
				if err1 == nil || err2 == nil || err3 == nil {
					t.Errorf("events %v, load %v, journal %v", err1, err2, err3)
				}
			})
			if f.tail.offset > maxTails*maxTailBytes {
				t.Errorf("%d bytes in one look", f.tail.offset)
			}
			if name != "terabytes of zeros" && (exists(dir, FinalFile) || Check(dir) == nil) {
				t.Error("it is taken for a file of the collector")
			}
		})
	}
}

// TestEventsThatGrowFasterThanTheyAreReadAreReadOn: an honest loader loses none.
func TestEventsThatGrowFasterThanTheyAreReadAreReadOn(t *testing.T) {
	dir := t.TempDir()
	line := []byte(`{"span":"Fill"}` + "\n")
	all := bytes.Repeat(line, (maxTails+1)*maxTailBytes/len(line))
	if err := os.WriteFile(filepath.Join(dir, runfile.EventsFile), all, 0o600); err != nil {
		t.Fatal(err)
	}
	tail, count := eventTail{dir: dir}, 0
	for range 2 {
		if err := tail.each(func(runfile.Event) { count++ }); err != nil {
			t.Fatal(err)
		}
	}
	if want := len(all) / len(line); count != want {
		t.Errorf("%d events of %d", count, want)
	}
}

// TestTheJournalIsWrittenOverNoLink, nor into a file that has the name of its part.
func TestTheJournalIsWrittenOverNoLink(t *testing.T) {
	secret, dir := tokenFile(t), t.TempDir()
	path := filepath.Join(dir, JournalFile)
	if err := os.Link(secret, path); err != nil {
		t.Fatal(err)
	}
	j, entries, err := openJournal(path)
	if err != nil || len(entries) > 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	defer j.close()
	if err := j.add(entry{Problem: &runfile.CollectionError{Source: "a"}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != token {
		t.Errorf("the file is now %q, %v", text, err)
	}
}
