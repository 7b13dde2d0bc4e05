package rest

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxCredentialBytes bounds one file of a Secret, which holds at most 1 MiB altogether.
const maxCredentialBytes = 64 << 10

// Credentials identifies an account of an array. It prints only which of its values are set.
type Credentials struct {
	Username, Password, Token string
	// dir is the folder of the Secret; empty = the values do not come from a Secret.
	dir string
}

// ReadCredentials reads the files username, password and token in dir, a mounted Secret. A missing file
// leaves its field empty. It returns an error if all are missing, or if only one of username and password
// exists. It removes the line end at the end of a file. Errors name keys, never contents.
func ReadCredentials(dir string) (Credentials, error) {
	c := Credentials{dir: dir}
	found := 0
	for _, k := range []struct {
		key string
		to  *string
	}{{"username", &c.Username}, {"password", &c.Password}, {"token", &c.Token}} {
		there, err := readKey(filepath.Join(dir, k.key), k.to)
		if err != nil {
			return Credentials{dir: dir}, fmt.Errorf("read key %s of the Secret in %s: %w", k.key, dir, err)
		}
		if there {
			found++
		}
	}
	var wrong string
	switch {
	case found == 0:
		wrong = " has none of the keys username and password, or token"
	case c.Username != "" && c.Password == "":
		wrong = ": key username is set, key password is missing or empty"
	case c.Username == "" && c.Password != "":
		wrong = ": key password is set, key username is missing or empty"
	case c.Username == "" && c.Token == "":
		wrong = ": all keys are empty"
	default:
		return c, nil
	}
	return Credentials{dir: dir}, fmt.Errorf("the Secret in %s%s", dir, wrong)
}

// readKey reads the file at path into to and reports whether it exists.
func readKey(path string, to *string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the folder is named by whoever runs this program
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxCredentialBytes+1))
	if err != nil {
		return false, err
	}
	if len(b) > maxCredentialBytes {
		return false, fmt.Errorf("it is longer than %d bytes", maxCredentialBytes)
	}
	*to = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if strings.ContainsAny(*to, "\r\n\x00") {
		*to = ""
		return false, fmt.Errorf("it has more than one line")
	}
	return true, nil
}

// Reload reads the credentials again from their folder: the kubelet replaces the files when the Secret
// changes. It reports whether they have changed. Credentials without a folder stay the same.
func (c Credentials) Reload() (Credentials, bool, error) {
	if c.dir == "" {
		return c, false, nil
	}
	n, err := ReadCredentials(c.dir)
	if err != nil {
		return c, false, err
	}
	return n, n != c, nil
}

// Redact returns text without the values of c, and without the forms in which a careless server might repeat
// them.
func (c Credentials) Redact(text string) string {
	if c.Username != "" {
		text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password)), redacted)
	}
	for _, secret := range []string{c.Password, c.Token, c.Username} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	return text
}

const redacted = "(hidden)"

// String names the values that are set, without the values.
func (c Credentials) String() string {
	var set []string
	for _, k := range []struct{ key, value string }{
		{"username", c.Username},
		{"password", c.Password},
		{"token", c.Token},
	} {
		if k.value != "" {
			set = append(set, k.key)
		}
	}
	if set == nil {
		return "no credentials"
	}
	return "credentials (" + strings.Join(set, ", ") + " hidden)"
}

// Format writes String for every verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	fmt.Fprint(f, c.String())
}

// MarshalJSON writes String, so that the values cannot get into a log or a file by mistake.
func (c Credentials) MarshalJSON() ([]byte, error) {
	return []byte(`"` + c.String() + `"`), nil
}
