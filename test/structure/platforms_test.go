package structure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// platforms runs hack/platforms.sh on a file, with a day.
func platforms(t *testing.T, file, day string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("hack/platforms.sh", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PLATFORMS="+file, "TODAY="+day)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

const platformsFile = "hack/platforms.tsv"

// TestEachTestedVersionIsThatOfItsPin: where a row has a module, the pin is a go.mod with it, else a
// file that has the version as a word.
func TestEachTestedVersionIsThatOfItsPin(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, platformsFile))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		column := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(column) != 6 {
			t.Fatalf("%q has %d columns", line, len(column))
		}
		rows++
		component, version, module, pin := column[0], column[1], column[2], column[3]
		want := `(?m)(^|[^0-9A-Za-z.-])` + regexp.QuoteMeta(version) + `($|[^0-9A-Za-z.-]|[.]\s)`
		if module != "" {
			want = `(?m)^(require)?\s*` + regexp.QuoteMeta(module) + ` v` + regexp.QuoteMeta(version) + `( //.*)?$`
		}
		text, err := os.ReadFile(filepath.Join(root, pin))
		if err != nil {
			t.Errorf("%s %s: its pin: %v", component, version, err)
		} else if !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s has %s %s, and its pin %s does not: change one of them", platformsFile, component, version, pin)
		}
	}
	if rows == 0 {
		t.Error("there is no row")
	}
}

func TestREADMEHasTheTableOfPlatforms(t *testing.T) {
	want, err := platforms(t, platformsFile, "2026-12-01", "markdown")
	if err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "<!-- platforms -->\n")
	if got, _, _ := strings.Cut(after, "<!-- /platforms -->\n"); got != want {
		t.Errorf("README.md has\n%s\nbetween its comments and hack/platforms.sh markdown prints\n%s", got, want)
	}
}

func TestTheTableOfPlatformsSaysWhatADateMeans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "platforms.tsv")
	text := "# head\nA\t1.9.0\t\tgo.mod\t2027-01-31\tmove\nA\t1.10.0\t\tgo.mod\tunknown\tmove\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string]string{
		"2026-10-01": "supported until 2027-01-31", "2027-01-01": "ends in 30 days", "2027-02-01": "ended 2027-01-31",
	} {
		got, err := platforms(t, file, day)
		if err != nil || !strings.Contains(got, want) || !strings.Contains(got, "unknown") {
			t.Errorf("on %s: %v\n%s", day, err, got)
		}
	}
}

// TestTheTableOfPlatformsSaysWhatIsNewer, or that the module proxy does not answer.
func TestTheTableOfPlatformsSaysWhatIsNewer(t *testing.T) {
	file, proxy := filepath.Join(t.TempDir(), "platforms.tsv"), t.TempDir()
	versions := filepath.Join(proxy, "example.com", "a", "@v")
	for name, value := range map[string]string{"GOPRIVATE": "", "GOSUMDB": "off", "GOMODCACHE": t.TempDir()} {
		t.Setenv(name, value)
	}
	err := errors.Join(
		os.WriteFile(file, []byte("A\t1.2.3\texample.com/a\tgo.mod\tunknown\tmove\n"), 0o600),
		os.MkdirAll(versions, 0o700),
		os.WriteFile(filepath.Join(versions, "list"), []byte("v1.2.2\nv1.2.3\nv1.2.10\nv1.3.0\nv1.4.0-rc.1\n"), 0o600),
		os.WriteFile(filepath.Join(versions, "v1.3.0.info"), []byte(`{"Version": "v1.3.0"}`), 0o600),
		os.WriteFile(filepath.Join(versions, "v1.3.0.mod"), []byte("module example.com/a\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for proxy, want := range map[string]string{
		"file://" + proxy: "1.2.10, 1.3.0\n", "off": "the module proxy does not answer\n",
	} {
		t.Setenv("GOPROXY", proxy)
		if got, err := platforms(t, file, "2026-10-01", "--newer"); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("GOPROXY=%s: %v\n%s, want %s", proxy, err, got, want)
		}
	}
}

func TestAMalformedTableOfPlatformsIsRefused(t *testing.T) {
	row := []string{"A", "1.2.3", "example.com/a", "go.mod", "2027-01-31", "move"}
	for why, change := range map[string]func(r []string) []string{
		"5 columns, not 6":                     func(r []string) []string { return r[:5] },
		"write an ISO date, or unknown":        func(r []string) []string { r[4] = "31.1.2027"; return r },
		"is no version of a Go module":         func(r []string) []string { r[1] = "1.2"; return r },
		"is no version\n":                      func(r []string) []string { r[1] = "v 1"; return r },
		"the pin or the move is empty":         func(r []string) []string { r[3] = ""; return r },
		"column 1 begins or ends with a space": func(r []string) []string { r[0] += " "; return r },
		"a second row of A 1.2.3":              func(r []string) []string { r[5] += "\n" + strings.Join(row, "\t"); return r },
		"there is no row":                      func([]string) []string { return []string{"# only a head"} },
	} {
		t.Run(why, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "platforms.tsv")
			if err := os.WriteFile(file, []byte(strings.Join(change(append([]string(nil), row...)), "\t")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{nil, {"markdown"}} {
				if got, err := platforms(t, file, "2026-10-01", args...); err == nil || !strings.Contains(got, why) || !strings.Contains(got, "error: "+file) {
					t.Errorf("%s: %v %s, want %q", fmt.Sprint(args), err, got, why)
				}
			}
		})
	}
}
