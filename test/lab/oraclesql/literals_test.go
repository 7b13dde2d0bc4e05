package oraclesql

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sqlIn returns the string literals of a Go file that hold SQL.
func sqlIn(t *testing.T, name string, source any) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	statement := regexp.MustCompile(`(?is)^\s*(/\*.*?\*/|--[^\n]*\n|\s)*(` +
		`select\s.*\sfrom\s|with\s+\w+\s+as\s*\(|insert\s+into\s|update\s.*\sset\s|delete\s+from\s|merge\s+into\s|truncate\s+table\s|` +
		`(alter|create|drop)\s+(or\s+replace\s+|unique\s+|bigfile\s+|global\s+)*(system|session|user|table|index|tablespace|procedure|package|view|database|pluggable|directory)\b|` +
		`grant\s.*\sto\s|revoke\s.*\sfrom\s|begin\s.*;|declare\s.*\bbegin\b|call\s+\w+\.\w+|exec(ute)?\s+immediate\s)`)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && statement.MatchString(text) {
			found = append(found, text)
		}
		return true
	})
	return found
}

func TestNoGoFileHoldsSQL(t *testing.T) {
	seen := 0
	for _, root := range []string{"../../../internal/oracle", "../../../cmd/oraload"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			seen++
			for _, text := range sqlIn(t, path, nil) {
				t.Errorf("%s: SQL belongs into a file of internal/oracle/sqltext: %.60q", path, text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func TestSQLInGoIsSeen(t *testing.T) {
	for literal, want := range map[string]bool{
		"SELECT name FROM v$datafile": true, "  select\n1\nfrom dual": true, "/* x */ SELECT a FROM b": true,
		"ALTER SYSTEM SWITCH LOGFILE": true, "create or replace procedure x": true, "BEGIN x.y; END;": true,
		"INSERT INTO t VALUES (1)": true, "DELETE FROM t": true, "UPDATE t SET a = 1": true, "GRANT dba TO x": true,
		"DROP TABLE x PURGE": true, "ALTER SESSION SET x = 1": true, "DECLARE x NUMBER; BEGIN NULL; END;": true,
		"CREATE BIGFILE TABLESPACE x": true, "EXECUTE IMMEDIATE 'x'": true, "TRUNCATE TABLE x": true,
		"select one of these": false, "create the directory first": false, "update the image": false, "drop it": false,
		"begin again": false, "alter the parameter": false, "dnfs_servers": false,
	} {
		found := sqlIn(t, "x.go", "package x\nvar v = "+strconv.Quote(literal))
		if got := slices.Contains(found, literal); got != want {
			t.Errorf("%q is SQL: %v, want %v", literal, got, want)
		}
	}
}
