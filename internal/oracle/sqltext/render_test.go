package sqltext

import (
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/sqlname"
)

func setParameter(name, value any) (string, error) {
	return Render("set_parameter", map[string]any{"Name": name, "Value": value})
}

func TestValuesAreWrittenAsTheirKind(t *testing.T) {
	for want, values := range map[string][2]any{
		`sga_target = 2G SCOPE`:                   {Parameter("sga_target"), Value("2G")},
		`"_x" = 0 SCOPE`:                          {Parameter("_x"), Value("0")},
		`"__db_cache_size" = -1 SCOPE`:            {Parameter("__db_cache_size"), Value("-1")},
		`x = TRUE SCOPE`:                          {Parameter("x"), Value("TRUE")},
		`x = '2G; DROP' SCOPE`:                    {Parameter("x"), Value("2G; DROP")},
		`x = 'it''s' SCOPE`:                       {Parameter("x"), Value("it's")},
		`x = 'TRUE SCOPE=BOTH' SCOPE`:             {Parameter("x"), Value("TRUE SCOPE=BOTH")},
		`x = '' SCOPE`:                            {Parameter("x"), Value("")},
		`Bench$1 = 'a''b' SCOPE`:                  {"Bench$1", Literal("a'b")},
		`A = "p''w -- d" SCOPE`:                   {Identifier("A"), Password("p''w -- d")},
		`x = 42 SCOPE`:                            {"x", 42},
		`x = -7 SCOPE`:                            {"x", int64(-7)},
		`x = 7 SCOPE`:                             {"x", int32(7)},
		strings.Repeat("x", 128) + ` = 'é' SCOPE`: {strings.Repeat("x", 128), Literal("é")},
	} {
		got, err := setParameter(values[0], values[1])
		if err != nil || !strings.Contains(got, "ALTER SYSTEM SET "+want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

func TestWhatCouldBeMoreThanOneWordIsRefused(t *testing.T) {
	for _, v := range []any{
		"", "a b", "a;b", "1a", "a.b", `a"b`, "a'b", "a--b", "a/*b", "a\nb", "_a", "ä", strings.Repeat("x", 129),
		Identifier("x y"), Parameter("X"), Parameter("x y"), Parameter(`_x"`), Parameter("___x"), Parameter(""), Parameter("x="), Parameter("_"),
		Value("a\nb"), Value("a\x00b"), Literal("a\rb"), Literal("a\x7fb"), Literal("a\xffb"), Literal(strings.Repeat("x", 1001)),
		Password(""), Password(`a"b`), Password("a\nb"), Password(strings.Repeat("x", 1025)),
		1.5, true, nil,
		[]string{"a"},
		struct{}{},
	} {
		if got, err := setParameter(v, 1); err == nil {
			t.Errorf("%#v gives %q", v, got)
		}
	}
}

func TestAPasswordIsNeverShown(t *testing.T) {
	_, err := setParameter("x", Password("secret\"word"))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestPlacesAndValuesMustMatch(t *testing.T) {
	_, err := Render("set_parameter", map[string]any{"Name": "x"})
	if err == nil || !strings.Contains(err.Error(), "no value for Value") {
		t.Errorf("got %v", err)
	}
	_, err = Render("set_parameter", map[string]any{"Name": "x", "Value": 1, "More": 1})
	if err == nil || !strings.Contains(err.Error(), "no place for More") {
		t.Errorf("got %v", err)
	}
	got, err := Render("version", nil)
	if err != nil || got != Text("version") {
		t.Errorf("got %q, %v", got, err)
	}
}

// A value that looks like a place is a value.
func TestAValueIsNotRenderedAgain(t *testing.T) {
	got, err := setParameter("x", Literal("{{.Name}}"))
	if err != nil || !strings.Contains(got, "'{{.Name}}'") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNamesAreThoseInTheTexts(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(names) < 20 || !slices.Contains(names, "calibrate") {
		t.Errorf("got %v", names)
	}
	// V$SQL and stand-ins tell by it which text they got.
	if got, ok := sqlname.Of(Text("sysstat")); got != "sysstat" || !ok {
		t.Errorf("got %q", got)
	}
}

func TestMistakesOfOursPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"unknown":         func() { Text("no_such_text") },
		"unknown to fill": func() { _, _ = Render("no_such_text", nil) },
		"not rendered":    func() { Text("set_parameter") },
		"path":            func() { Raw("../sqltext/version") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func FuzzAParameterIsOneStatement(f *testing.F) {
	for _, s := range []string{"2G", "it's", "' OR 1", "a\\'", "''", "'"} {
		f.Add("x", s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		got, err := setParameter(Parameter(name), Value(value))
		if err != nil {
			return
		}
		rest, ok := strings.CutPrefix(got[strings.Index(got, "ALTER"):], "ALTER SYSTEM SET ")
		rest, tail := strings.CutSuffix(rest, " SCOPE = SPFILE SID = '*'")
		_, word, equals := strings.Cut(rest, " = ")
		if !ok || !tail || !equals {
			t.Fatalf("%q", got)
		}
		if inner, quoted := strings.CutPrefix(word, "'"); quoted {
			inner = strings.TrimSuffix(inner, "'")
			if strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
				t.Errorf("%q ends its literal", got)
			}
		} else if strings.ContainsAny(word, " ;'\"") {
			t.Errorf("%q has more than one word", got)
		}
	})
}
