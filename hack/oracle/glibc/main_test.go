package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	order := []string{"2.2.5", "2.3", "2.3.2", "2.14", "2.17", "2.34", "3"}
	for i := range order[:len(order)-1] {
		a, err := parse(order[i])
		if err != nil {
			t.Fatal(err)
		}
		b, err := parse(order[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if !a.less(b) || b.less(a) || a.less(a) {
			t.Errorf("%s and %s are not in order", a, b)
		}
		if a.String() != order[i] {
			t.Errorf("%s became %s", order[i], a)
		}
	}
}

func TestAProgramOfThisMachineIsHeldAgainstTheLimit(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	newest, symbol, err := needs(sh)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run([]string{"-most", newest.String(), sh}, &out); err != nil || !strings.Contains(out.String(), newest.String()) {
		t.Errorf("the version that it needs is refused: %v, %q", err, out.String())
	}
	err = run([]string{"-most", "2.1", sh}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), symbol) {
		t.Errorf("%v does not name %s", err, symbol)
	}
}

func TestWhatProvesNothingIsAnError(t *testing.T) {
	static := t.TempDir() + "/static"
	build := exec.Command("go", "build", "-o", static, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"a static program": {"-most", "2.17", static},
		"no program":       {"-most", "2.17", "main.go"},
		"no limit":         {static},
		"nothing to check": {"-most", "2.17"},
	} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
