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
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

const (
	// maxConfigBytes bounds the file of a Config.
	maxConfigBytes = 64 << 10
	// maxSecretBytes bounds one key of a mounted Secret.
	maxSecretBytes = 4 << 10
)

// Config is `results` in the values of the chart. Destinations that are nil are off.
type Config struct {
	// Cluster is the name of this cluster in the keys of objects and in messages.
	Cluster string   `json:"cluster"`
	S3      *S3      `json:"s3"`
	Webhook *Webhook `json:"webhook"`
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

// Webhook is an address that takes a message by POST.
type Webhook struct {
	SecretDir string   `json:"secretDir"` // has the file url, which is often a credential
	Format    string   `json:"format"`    // json or slack
	On        []string `json:"on"`        // outcomes: see Outcomes
	// Link is that of a message, with {kind}, {namespace} and {name} in it.
	Link string `json:"link"`
	// CABundle is PEM; empty: the CAs of the system.
	CABundle string `json:"caBundle"`
}

// The formats of a message.
const (
	formatJSON  = "json"
	formatSlack = "slack"
)

// Open reads a Config from a file in YAML. Its errors name the field in the values of the chart.
func Open(path string) (Config, error) {
	var c Config
	text, err := readSmall(path, maxConfigBytes)
	if err != nil {
		return c, fmt.Errorf("read the destinations of results: %w", err)
	}
	if err := yamlbound.UnmarshalStrict(text, maxConfigBytes, &c); err != nil {
		return c, fmt.Errorf("results: %w", err)
	}
	return c, errors.Join(c.S3.check(), c.Webhook.check())
}

// Destinations are those that are configured. The reader is the API server.
func Destinations(c Config, reader client.Reader) []Destination {
	var all []Destination
	if c.S3 != nil {
		all = append(all, NewBucket(c, reader))
	}
	if c.Webhook != nil {
		all = append(all, NewMessenger(c, reader))
	}
	return all
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
	_, err = pool("results.s3.caBundle", s.CABundle)
	return err
}

func (w *Webhook) check() error {
	if w == nil {
		return nil
	}
	if w.Format != formatJSON && w.Format != formatSlack {
		return fmt.Errorf("results.webhook.format is %q: use %s or %s", w.Format, formatJSON, formatSlack)
	}
	for _, o := range w.On {
		if !slices.Contains(Outcomes(), o) {
			return fmt.Errorf("results.webhook.on has %q: use %s", o, strings.Join(Outcomes(), ", "))
		}
	}
	_, err := pool("results.webhook.caBundle", w.CABundle)
	return err
}

// pool is the CAs of a bundle, nil where it is empty.
func pool(field, bundle string) (*x509.CertPool, error) {
	if bundle == "" {
		return nil, nil //nolint:nilnil // as tls.Config has it: the CAs of the system
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM([]byte(bundle)) {
		return nil, fmt.Errorf("%s has no certificate: set it in PEM", field)
	}
	return p, nil
}

// transport is that of HTTP with the CAs of a bundle that was checked.
func transport(bundle string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // the standard library's
	t.TLSClientConfig.RootCAs, _ = pool("", bundle)
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
