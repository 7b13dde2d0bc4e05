package deliver

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

const (
	// maxConfigBytes bounds the file of a Config.
	maxConfigBytes = 64 << 10
	// maxSecretBytes bounds one key of a mounted Secret.
	maxSecretBytes = 4 << 10
)

// Config is `results` in the values of the chart. A bucket that is nil is off.
type Config struct {
	// Cluster is the name of this cluster in the keys of objects.
	Cluster string `json:"cluster"`
	S3      *S3    `json:"s3"`
}

// S3 is a bucket of an S3 server.
type S3 struct {
	Endpoint string `json:"endpoint"` // URL without a path, such as https://s3.example.com
	Region   string `json:"region"`
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix"`   // of the keys of all objects
	CABundle string `json:"caBundle"` // PEM; empty: the CAs of the system
	// SecretDir has the files accessKeyID and secretAccessKey. Without it the credentials are
	// those of the environment: a web identity of the pod, or the role of the machine.
	SecretDir string `json:"secretDir"`
}

// Open reads a Config from a file in YAML. Its errors name the field in the values of the chart.
func Open(path string) (Config, error) {
	var c Config
	text, err := readSmall(path, maxConfigBytes)
	if err != nil {
		return c, fmt.Errorf("read where results are sent: %w", err)
	}
	if err := yamlbound.UnmarshalStrict(text, maxConfigBytes, &c); err != nil {
		return c, fmt.Errorf("results: %w", err)
	}
	return c, c.S3.check()
}

func (s *S3) check() error {
	if s == nil {
		return nil
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("results.s3.endpoint is %q: set a URL without a path and without credentials, such as "+
			"https://s3.example.com", s.Endpoint)
	}
	if s.Bucket == "" {
		return errors.New("results.s3.bucket is empty: set the name of a bucket that exists")
	}
	_, err = pool(s.CABundle)
	return err
}

// pool is the CAs of a bundle, nil where it is empty.
func pool(bundle string) (*x509.CertPool, error) {
	if bundle == "" {
		return nil, nil //nolint:nilnil // as tls.Config has it: the CAs of the system
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM([]byte(bundle)) {
		return nil, errors.New("results.s3.caBundle has no certificate: set it in PEM")
	}
	return p, nil
}

// transport is that of HTTP with the CAs of a bundle that was checked.
func transport(bundle string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // the standard library's
	t.TLSClientConfig.RootCAs, _ = pool(bundle)
	return t
}

// secret reads a key of a mounted Secret at each use: a Secret changes.
func secret(dir, key string) (string, error) {
	text, err := readSmall(filepath.Join(dir, key), maxSecretBytes)
	if err != nil {
		return "", fmt.Errorf("read the Secret: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return text, err
}
