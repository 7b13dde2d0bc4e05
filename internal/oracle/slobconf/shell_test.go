package slobconf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) Conf {
	t.Helper()
	c, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return c
}

func TestAllPlainAssignmentsOfALineAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"WORK_UNIT=8 SCALE=3G":                        "3G",
		"WORK_UNIT=8; SCALE=3G; RUN_TIME=60":          "3G",
		"export SCALE=3G WORK_UNIT=8 # both":          "3G",
		"declare -x SCALE=3G":                         "3G",
		"typeset SCALE=\"3G\"":                        "3G",
		"readonly SCALE='3G'":                         "3G",
		"WORK_UNIT=8 \\\n  SCALE=3\\\nG":              "3G",
		"\t SCALE=\"3\"'G'":                           "3G",
		"if true; then SCALE=1G; fi\nSCALE=3G":        "3G",
		"SCALE=3G\nexport SCALE\necho $SCALE":         "3G",
		"SCALE=3G && WORK_UNIT=9":                     "3G",
		"SCALE=3G\r\nWORK_UNIT=9\r\n":                 "3G",
		"f() { echo; }\nSCALE=3G":                     "3G",
		"case x in (a|b) SCALE=1;; esac; SCALE=3G":    "3G",
		"cat <<E\nSCALE=1\nE\nSCALE=3G":               "3G",
		"<cut here>\nSCALE=3G # a note about 'SCALE'": "3G",
		"SCALE=3G; env SCALE=7G true":                 "3G",
		"SCALE=3G; command -v $X; printf \"$X\"":      "3G",
		"SCALE=3G; export -n WORK_UNIT":               "3G",
		"SCALE=3G; printf 'SCALE %s\\n' \"$X\" $Y":    "3G",
		"export $X; SCALE=3G":                         "3G",
		"unset $X; SCALE=3G":                          "3G",
		"[ -n x ] || exit 1\nSCALE=3G":                "3G",
		"f() { return; }\nSCALE=3G":                   "3G",
		"SCALE = 7G\nSCALE=3G\nSCALE: 8G":             "3G",
		"\ufeff# a note\nSCALE=\\3G":                  "3G",
	} {
		c := parse(t, text)
		if got, line := c.values["SCALE"], c.notRead("SCALE"); got != want || line != 0 {
			t.Errorf("%q: %q, not read on line %d", text, got, line)
		}
	}
}

func TestWhatOnlyTheShellCanTellIsAnErrorAndNoDefault(t *testing.T) {
	for text, line := range map[string]int{
		"SCALE=${SIZE:-10G}":                                 1,
		"RUN_TIME=60\nSCALE=$(( 4 * 1000 ))":                 2,
		"SCALE=`cat size`":                                   1,
		"SCALE=\"$SIZE\"":                                    1,
		"SCALE=1G\nSCALE+=0":                                 2,
		"SCALE=1G\nif x; then\n SCALE=9G\nfi":                3,
		"SCALE=1G\nfor i in 1 2; do SCALE=9G; done":          2,
		"SCALE=1G\nwhile x\ndo\nSCALE=9G\ndone":              4,
		"SCALE=1G\ncase $1 in\na) SCALE=9G;;\nesac":          3,
		"SCALE=1G\nfunction f {\n SCALE=9G\n}":               3,
		"SCALE=1G\nf() {\n echo\n}\nf":                       5,
		"SCALE=1G\n(SCALE=9G)":                               2,
		"SCALE=1G\ncat <<E\nSCALE=9G\nE":                     3,
		"SCALE=1G\n[ -n \"$X\" ] && SCALE=9G":                2,
		"SCALE=1G\ntrue || SCALE=9G":                         2,
		"SCALE=1G\nSCALE=9G true":                            2,
		"SCALE=1G\n. ./other.conf":                           2,
		"SCALE=1G\neval SCALE=9G":                            2,
		"SCALE=1G\nread SCALE <f":                            2,
		"SCALE=1G\nunset SCALE":                              2,
		"SCALE=1G\n: ${SCALE:=9G}":                           2,
		"SCALE=1G\n((SCALE++))":                              2,
		"readonly SCALE=1G\nSCALE=9G":                        2,
		"declare -i SCALE=3*4":                               1,
		"SCALE=1G\nexport $(cat env)":                        2,
		"SCALE=1G\nif x; then\nexport $(cat env); fi":        3,
		"SCALE=1G\nexport \"$X\"":                            2,
		"SCALE=1G\nexport \"SCALE=9G\"":                      2,
		"SCALE=1G\nexport {SC,X}ALE=9G":                      2,
		"SCALE=1G\nexport SC\\ALE=9G":                        2,
		"SCALE=1G\ncommand export SCALE=9G":                  2,
		"SCALE=1G\nbuiltin export $X":                        2,
		"SCALE=1G\ndeclare -n R=SCALE; R=9G":                 2,
		"declare -n R=SCALE\nSCALE=1G\nR=9G":                 2,
		"SCALE=1G\nif x; then typeset -xn R=SCALE; fi; R=9G": 2,
		"SCALE=1G\nbuiltin declare -n R=SCALE; R=9G":         2,
		"SCALE=1G\nunset $X":                                 2,
		"RUN_TIME=60\nif x; then\nSCALE=9G":                  2,
		"RUN_TIME=60\nX=\"\nSCALE=9G":                        2,
		"RUN_TIME=60\nif x; then return; fi\nSCALE=9G":       3,
		"RUN_TIME=60\ncase of doubt\nSCALE=9G":               2,
		"SCALE=1G\necho a | while read x; do SCALE=9G\ndone": 2,
		"SCALE=1G\nbuiltin source f":                         2,
		"SCALE=1G\ncommand -p . f":                           2,
		"SCALE=1G\n\\eval SCALE=9G":                          2,
		"SCALE=1G\nlocal SCALE=9G":                           2,
		"\\readonly SCALE=1G\nSCALE=9G":                      2,
		"if x; then readonly SCALE=1G; fi\nSCALE=9G":         2,
		"X=SCALE=9G; readonly $X\nSCALE=1G":                  2,
		"X='-n R=SCALE'; declare $X\nSCALE=1G\nR=9G":         2,
		"X='-i SCALE'; typeset $X\nSCALE=010":                2,
		"f() { local $X; }\nSCALE=1G":                        2,
		"SCALE=1G\nexport 'SC'ALE=9G":                        2,
		"SCALE=1G\ndeclare SC''ALE=9G":                       2,
		"SCALE=1G\ncommand export \"SC\"ALE=9G":              2,
		"SCALE=1G\nunset 'SC'ALE":                            2,
		"X=SCALE; SCALE=1G\nprintf -v $X 9G":                 2,
		"X='-v SCALE 9G'; SCALE=1G\nprintf $X":               2,
		"SCALE=1G\nprintf -v SC\\ALE 9G":                     2,
		"SCALE=1G\nprintf -vSCALE 9G":                        2,
		"SCALE=1G\nread SC''ALE <<<9G":                       2,
		"X=SCALE; SCALE=1G\nread $X <<<9G":                   2,
		"X=SCALE=9; SCALE=1G\nlet \"$X\"":                    2,
		"X=SCALE=9; SCALE=1G\ncommand let \"$X\"":            2,
		"X=SCALE; SCALE=1G\n(( $X = 9 ))":                    2,
		"SCALE=1G\nwait -p SC''ALE":                          2,
		"SCALE=1G\nexec {SCALE}>/dev/null":                   2,
		"X=SCALE\n: ${!X:=9G}":                               2,
	} {
		c := parse(t, text)
		want := regexp.MustCompile(fmt.Sprintf(`\bSCALE\b.* (is|are) set by line %d, but`, line))
		if _, err := c.YAML(); err == nil || !want.MatchString(err.Error()) {
			t.Errorf("%q: %v", text, err)
		}
		if tables, err := c.Tables(); err == nil || !want.MatchString(err.Error()) || tables.ScaleBytes != 0 {
			t.Errorf("%q: %+v, %v", text, tables, err)
		}
	}
}

// The default in place of what the file means would be a benchmark of the cache.
func TestALineThatNamesAParameterAndSetsNothingIsNoDefault(t *testing.T) {
	for _, text := range []string{
		"SCALE = 80G", "SCALE: 80G", "set SCALE=80G", "setenv SCALE 80G", "env SCALE=80G", "$ SCALE=80G", "1 SCALE=80G", "Scale=80G",
		"<here SCALE=80G>", "scale=80G", "> SCALE=80G", "\"SCALE\"=80G", "\ufeffSCALE=80G", "cat <<E\n\tSCALE 80G\nE", "echo 'SCALE=80G'",
	} {
		c := parse(t, "RUN_TIME=60\n"+text)
		line := 2 + strings.Count(text[:max(0, strings.Index(text, "SCALE"))], "\n")
		want := fmt.Sprintf("SCALE is not set, although named by line %d; write NAME=value", line)
		if _, err := c.YAML(); err == nil || err.Error() != want+" there, without blanks" {
			t.Errorf("%q: %v", text, err)
		}
		if tables, err := c.Tables(); err == nil || !strings.Contains(err.Error(), want) || tables.ScaleBytes != 0 {
			t.Errorf("%q: %+v, %v", text, tables, err)
		}
	}
	for _, text := range []string{"\ufeffSCALE=80G", "\ufeffSCALE=80G\r\nRUN_TIME=60"} {
		if _, err := parse(t, text).YAML(); err == nil || !strings.Contains(err.Error(), "line 1, which begins with a byte order mark; remove") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Parse(strings.NewReader("SCALE = 80G\n")); err != nil {
		t.Errorf("it names a parameter: %v", err)
	}
	if text := fragment(t, "SCALE=1G # WORK_UNIT\nx=1\necho # WORK_UNIT\nDO_HOTSPOT = TRUE"); !strings.Contains(text, "DO_HOTSPOT of line 4 was left out") {
		t.Error(text)
	}
}

func TestAParameterWhoseValueIsTakenIsNotNamed(t *testing.T) {
	for _, text := range []string{"[ -n \"$UPDATE_PCT\" ] && echo x", "echo $UPDATE_PCT ${UPDATE_PCT:-5}"} {
		if got := fragment(t, "SCALE=1G\n"+text); !strings.Contains(got, "updatePercent: 25 # UPDATE_PCT is not set") {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// What is wrong with one line is said once, with what helps.
func TestALineThatMaySetAllIsToldOnce(t *testing.T) {
	for text, want := range map[string]string{
		". other.conf\nSCALE=1G":                        "write NAME=value on a line below it, and outside",
		"X='a\nSCALE=1G":                                "set by line 1, but not as a plain value, because that line is no shell; correct it",
		"if x; then return; fi\nSCALE=1G":               "SCALE is set by line 2, but not as a plain value that holds in any case; write NAME=value on a line above line 1, which may end the file",
		"if x; then SCALE=1G; fi\n[ x ] || return":      "on a line below it, above line 2, which may end the file",
		"readonly SCALE=1G\nSCALE=9G":                   "in place of line 1, which lets no other line simply set it",
		"if x; then WORK_UNIT=8; SCALE=$X; fi\nSCALE=2": "WORK_UNIT is set by line 1,",
		"if x; then WORK_UNIT=8; SCALE=$X; fi":          "SCALE, WORK_UNIT are set by line 1,",
	} {
		_, err := parse(t, text).YAML()
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestALineBelowOneWithReferencesIsNoAdvice(t *testing.T) {
	_, err := parse(t, "RUN_TIME=60\ndeclare -n R=SCALE\nSCALE=1G\nR=9G").YAML()
	want := "SCALE is set by line 3, but not as a plain value that holds in any case; remove line 2, which may let a name " +
		"stand for another, or stay as it is"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "below") {
		t.Error(err)
	}
}

func TestWhatIsAddedAtTheEndHolds(t *testing.T) {
	const added = "\nRUN_TIME=300\nSQLNET_SERVICE_MAX=\n"
	for text, want := range map[string]string{
		"RUN_TIME=60": "",
		"if x; then RUN_TIME=60; fi\n. f\nf() { return; }": "",
		"[ x ] || exit 1":                    "",
		"RUN_TIME=60\nreturn 0":              "line 2 may keep what the benchmark adds at the end from setting RUN_TIME, SQLNET_SERVICE_MAX: remove it",
		"if x; then return; fi":              "line 1 may keep",
		"readonly RUN_TIME=60":               "line 1 may keep what the benchmark adds at the end from setting RUN_TIME: remove it",
		"readonly RUN_TIME=300":              "from setting RUN_TIME: remove it",
		"typeset -r SQLNET_SERVICE_MAX=2":    "from setting SQLNET_SERVICE_MAX: remove it",
		"if x; then declare -i RUN_TIME; fi": "from setting RUN_TIME: remove it",
		"command readonly RUN_TIME=60":       "from setting RUN_TIME: remove it",
		"X='a":                               "line 1 may keep",
		"X=RUN_TIME\nreadonly $X":            "line 2 may keep",
		"RUN_TIME=60\ndeclare -n X=SCALE":    "line 2 may keep what the benchmark adds at the end from setting RUN_TIME, SQLNET_SERVICE_MAX: remove it",
		"RUN_TIME=60\necho x \\":             "the last line may keep what the benchmark adds at the end from setting RUN_TIME: remove it",
		"WORK_UNIT=8\ntrue &&":               "the last line may keep what the benchmark adds at the end from setting RUN_TIME: remove it",
		"cat <<E":                            "line 1 may keep",
	} {
		err := parse(t, text+added).Holds(parse(t, added))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is read is what a shell makes of the file.
func TestAShellAgrees(t *testing.T) {
	names := []string{"SCALE", "RUN_TIME", "WORK_UNIT", "UPDATE_PCT"}
	forms := []string{
		"N=V", "N=\"V\"", " N='V' # N=7", "N=V M=V", "N=V; M=V;", "export N=V M=V", "readonly N2=V", "N=V \\\n M=V", "N=V &",
		"if [ -n \"$NONE\" ]; then\nN=V\nelse M=V; fi", "for N in V 2; do M=V; done", "true && N=V", "false || N=V && M=V",
		"while false; do N=V; done", "case V in\nV) N=V ;;\n*) M=V;;\nesac", "f() {\nN=V\n}", "f 2>/dev/null", "{ N=V; }", "(N=V)",
		"cat >/dev/null <<'E'\nN=V\nE", "N=V true", "N=${M:-V}", "N=$((V + 1))", "N=`echo V`", "unset N", ": ${N:=V}", "N=V | cat",
		"eval N=V", "N=$M", "N=", "if false\nthen (N=V)\nfi >/dev/null", "! true; N=V", "N=V\\\n1", "N=a'b'\"V\"", "echo N=V >/dev/null",
		"export $(echo N=V)", "export \"N=V\"", "export \\N=V", "command export N=V", "command -v true >/dev/null",
	}
	if testing.Short() {
		t.Skip("starts a shell for each file")
	}
	random, read := rand.New(rand.NewPCG(7, 11)), 0
	for range 150 {
		var b strings.Builder
		b.WriteString("WORK_LOOP=5\n")
		for range 1 + random.IntN(8) {
			pick := func() string { return names[random.IntN(len(names))] }
			form := strings.NewReplacer("N2", "NEVER", "N", pick(), "M", pick(), "V", fmt.Sprint(random.IntN(1000)))
			b.WriteString(strings.ReplaceAll(form.Replace(forms[random.IntN(len(forms))]), "readonly NEVER", "true NEVER") + "\n")
		}
		file := filepath.Join(t.TempDir(), "slob.conf")
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		script := ". " + file
		for _, name := range names {
			script += "\necho \"${" + name + "-not set}\""
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
		if err != nil {
			t.Fatalf("%v of\n%s", err, b.String())
		}
		c := parse(t, b.String())
		for i, got := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
			want, known := c.values[names[i]]
			if c.notRead(names[i]) > 0 {
				continue
			}
			if read++; !known {
				want = "not set"
			}
			if got != want {
				t.Errorf("%s is %q to the shell, and %q here, in\n%s", names[i], got, want, b.String())
			}
		}
	}
	if read < 100 {
		t.Errorf("only %d values were compared", read)
	}
}
