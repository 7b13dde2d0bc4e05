package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Bucket puts each benchmark with its results, and each run of a suite with its record, into a
// bucket. Keys begin with prefix, cluster and namespace:
//
//	benchmarks/NAME/UID/client-0.result.json.gz, one for each client
//	benchmarks/NAME/UID/benchmark.json, the last one of them
//	suites/NAME/RUN/record.json.gz
type Bucket struct {
	config  S3
	cluster string
	reader  client.Reader
	round   http.RoundTripper
}

// NewBucket makes a Bucket. The reader is the API server: benchmarks are whole there.
func NewBucket(c Config, reader client.Reader) *Bucket {
	return &Bucket{config: *c.S3, cluster: c.Cluster, reader: reader, round: transport(c.S3.CABundle)}
}

// file is an object of the bucket.
type file struct {
	key, contentType string
	data             []byte
}

// Send puts the files of a run into the bucket. A result that somebody deleted is left out.
func (b *Bucket) Send(ctx context.Context, r Run) error {
	files, err := b.files(ctx, r)
	if err != nil || len(files) == 0 {
		return err
	}
	c, err := b.connect()
	if err != nil {
		return err
	}
	for _, f := range files {
		_, err := c.PutObject(ctx, b.config.Bucket, f.key, bytes.NewReader(f.data), int64(len(f.data)),
			minio.PutObjectOptions{ContentType: f.contentType, DisableMultipart: true})
		if err != nil {
			return fmt.Errorf("put %s into bucket %s: %w", f.key, b.config.Bucket, err)
		}
	}
	return nil
}

func (b *Bucket) connect() (*minio.Client, error) {
	u, err := url.Parse(b.config.Endpoint)
	if err != nil {
		return nil, err
	}
	creds := credentials.NewIAM("")
	if dir := b.config.SecretDir; dir != "" {
		id, err := secret(dir, "accessKeyID")
		key, err2 := secret(dir, "secretAccessKey")
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		creds = credentials.NewStaticV4(id, key, "")
	}
	return minio.New(u.Host, &minio.Options{
		Creds: creds, Secure: u.Scheme == "https", Region: b.config.Region, Transport: b.round,
		MaxRetries: 1, // the courier tries again
	})
}

func (b *Bucket) files(ctx context.Context, r Run) ([]file, error) {
	o := r.object()
	folder := path.Join(b.config.Prefix, b.cluster, o.GetNamespace())
	if r.Suite != nil {
		var m corev1.ConfigMap
		err := b.reader.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: archive.RecordName(r.SuiteRun)}, &m)
		record, ok := m.BinaryData[runfile.KeySuiteRun]
		if err != nil || !ok {
			return nil, client.IgnoreNotFound(err)
		}
		return []file{gzipped(path.Join(folder, "suites", o.GetName(), r.SuiteRun, "record.json.gz"), record)}, nil
	}
	whole, err := wholeOf(ctx, b.reader, r.Benchmark)
	if err != nil || whole == nil {
		return nil, err
	}
	folder = path.Join(folder, "benchmarks", o.GetName(), string(o.GetUID()))
	var files []file
	if ref := whole.Status.ResultRef; ref != nil {
		var m corev1.ConfigMap
		err := b.reader.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}, &m)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		for i := range max(whole.Spec.Clients, 1) {
			if data, ok := m.BinaryData[runfile.ResultKey(i)]; ok {
				files = append(files, gzipped(path.Join(folder, runfile.ResultKey(i)), data))
			}
		}
	}
	whole.ManagedFields = nil
	whole.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind()))
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	return append(files, file{path.Join(folder, "benchmark.json"), "application/json", text}), nil
}

func gzipped(key string, data []byte) file { return file{key, "application/gzip", data} }
