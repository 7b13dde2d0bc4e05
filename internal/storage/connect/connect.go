// Package connect opens the storage source that a plan or a survey names.
package connect

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/embedded"
	"github.com/nfsbench/nfsbench/internal/storage/exporter"
	"github.com/nfsbench/nfsbench/internal/storage/flashblade"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/prometheus"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// Options configures Open.
type Options struct {
	// SecretsDir is the folder that holds the folder Source.Credentials.
	SecretsDir string
	Now        func() time.Time
}

// Open returns the source that s describes. It sends no request to the storage. An error is permanent: it
// needs another description or other credentials.
func Open(s runfile.Source, o Options) (storage.Source, error) {
	var cred rest.Credentials
	isArray := s.Kind == runfile.SourceONTAP || s.Kind == runfile.SourceFlashBlade
	if isArray || s.Kind == runfile.SourcePrometheus && s.Credentials != "" {
		var err error
		if cred, err = credentials(s, o); err != nil {
			return nil, err
		}
	}
	switch s.Kind {
	case runfile.SourceEmbedded:
		return embedded.New(s.URL)
	case runfile.SourceONTAP:
		return ontap.New(s, cred, o.Now)
	case runfile.SourceFlashBlade:
		return flashblade.New(s, cred, o.Now)
	case runfile.SourcePrometheus:
		return prometheus.New(s, cred, o.Now)
	case runfile.SourceExporter:
		return exporter.New(s, cred, o.Now)
	default:
		return nil, storage.Permanent(fmt.Errorf("source kind %q is not known", s.Kind))
	}
}

// credentials reads the credentials of s from the folder that s names. The source reads them again when the
// array refuses them.
func credentials(s runfile.Source, o Options) (rest.Credentials, error) {
	if !filepath.IsLocal(s.Credentials) {
		return rest.Credentials{}, storage.Permanent(fmt.Errorf("source %s: its credentials %q are no folder of secrets",
			s.Name, s.Credentials))
	}
	cred, err := rest.ReadCredentials(filepath.Join(o.SecretsDir, s.Credentials))
	if err != nil {
		return rest.Credentials{}, storage.Permanent(fmt.Errorf("source %s: %w", s.Name, err))
	}
	return cred, nil
}
