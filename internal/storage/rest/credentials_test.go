package rest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for k, v := range files {
		if err := os.WriteFile(filepath.Join(dir, k), []byte(v), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadCredentials(t *testing.T) {
	cases := map[string]struct {
		reason                    string
		files                     map[string]string
		username, password, token string
		want                      string // part of the error
	}{
		"an account":  {"what ONTAP needs", map[string]string{"username": "u\n", "password": " p \r\n"}, "u", " p ", "", ""},
		"a token":     {"what FlashBlade needs", map[string]string{"token": "T-1"}, "", "", "T-1", ""},
		"nothing":     {"a Secret with other keys helps nobody", map[string]string{"user": "u"}, "", "", "", "none of the keys"},
		"no password": {"half an account is none", map[string]string{"username": "u1"}, "", "", "", "key password"},
		"no username": {"half an account is none", map[string]string{"password": "p1"}, "", "", "", "key username"},
		"empty":       {"empty files are no credentials", map[string]string{"username": "", "password": ""}, "", "", "", "all keys are empty"},
		"two lines":   {"a header cannot carry them", map[string]string{"token": "topsecret\nx"}, "", "", "", "key token"},
		"too long":    {"it is bounded", map[string]string{"token": strings.Repeat("x", 1<<17)}, "", "", "", "key token"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tc.files)
			c, err := rest.ReadCredentials(dir)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "topsecret") {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil || c.Username != tc.username || c.Password != tc.password || c.Token != tc.token {
				t.Errorf("%s: got %q %q %q, %v", tc.reason, c.Username, c.Password, c.Token, err)
			}
		})
	}
}

func TestReloadSeesANewSecret(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"username": "u", "password": "old"})
	c, err := rest.ReadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed, err := c.Reload(); changed || err != nil {
		t.Errorf("nothing changed: got %v, %v", changed, err)
	}
	write(t, dir, map[string]string{"password": "new"})
	n, changed, err := c.Reload()
	if !changed || err != nil || n.Password != "new" {
		t.Errorf("got %v, %v", changed, err)
	}
	if err := os.Remove(filepath.Join(dir, "password")); err != nil {
		t.Fatal(err)
	}
	if n, changed, err = n.Reload(); changed || err == nil || n.Password != "new" {
		t.Errorf("half a Secret must not replace a whole one: %v, %v", changed, err)
	}
	given := rest.Credentials{Username: "u", Password: "p"}
	if _, changed, err := given.Reload(); changed || err != nil {
		t.Errorf("given credentials cannot change: %v, %v", changed, err)
	}
}

func TestCredentialsPrintAsNothing(t *testing.T) {
	c := rest.Credentials{Username: "benchaccount", Password: "hunter22", Token: "T-123"}
	doc, err := json.Marshal(map[string]any{"c": c})
	if err != nil {
		t.Fatal(err)
	}
	all := string(doc) + c.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all += fmt.Sprintf(verb+verb+verb, c, &c, []rest.Credentials{c})
	}
	all += fmt.Sprintf("%v %+v %#v", struct{ C rest.Credentials }{c}, map[string]rest.Credentials{"x": c}, struct{ C *rest.Credentials }{&c})
	for _, s := range []string{"benchaccount", "hunter22", "T-123", fmt.Sprintf("%x", "hunter22")} {
		if strings.Contains(all, s) {
			t.Errorf("%q is shown in %s", s, all)
		}
	}
}

func TestRedact(t *testing.T) {
	c := rest.Credentials{Username: "bench", Password: "bench-pass"}
	in := "user bench pass bench-pass basic " + base64.StdEncoding.EncodeToString([]byte("bench:bench-pass"))
	if got := c.Redact(in); got != "user (hidden) pass (hidden) basic (hidden)" {
		t.Errorf("got %q", got)
	}
	if got := (rest.Credentials{}).Redact("as it is"); got != "as it is" {
		t.Errorf("got %q", got)
	}
}
