package ontap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"
)

// Certificate is what a stand-in presents.
type Certificate int

// The certificates.
const (
	// CertificateProper names the address and is signed by a CA of its own.
	CertificateProper Certificate = iota
	// CertificateFactory is what ONTAP comes with: self-signed, a common name,
	// no subject alternative name. Nobody can verify it.
	CertificateFactory
	// CertificateExpired was proper until yesterday.
	CertificateExpired
	// CertificateForeign is proper, but for another host.
	CertificateForeign
)

// StartTLS serves on listener until Close. caPEM is what a client must trust.
func (s *Standin) StartTLS(listener net.Listener) (url string, caPEM []byte, err error) {
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "", nil, fmt.Errorf("address of the listener: %w", err)
	}
	names := append([]string{host, "localhost"}, s.opt.Names...)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		names = names[1:]
		host = names[len(names)-1]
	}
	pair, caPEM, err := certify(s.opt.Certificate, names)
	if err != nil {
		return "", nil, fmt.Errorf("make a certificate: %w", err)
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	s.tasks.Go(func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.stop() // the listener is gone, and with it the stand-in
		}
	})
	s.tasks.Go(func() {
		<-s.ctx.Done()
		_ = server.Close() // there is nobody to tell
	})
	if s.opt.Now == nil {
		s.tasks.Go(s.readOnGrid)
	}
	return "https://" + net.JoinHostPort(host, port), caPEM, nil
}

// certify makes a certificate and the one that it is verified with.
func certify(kind Certificate, names []string) (tls.Certificate, []byte, error) {
	begin, end := time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour)
	if kind == CertificateExpired {
		end = time.Now().Add(-24 * time.Hour)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nfsbench stand-in CA"}, NotBefore: begin,
		NotAfter: time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "naclu1"}, NotBefore: begin, NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if kind == CertificateForeign {
		names = []string{"192.0.2.250", "elsewhere.example.com"}
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
			continue
		}
		leaf.DNSNames = append(leaf.DNSNames, n)
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	signer, signerKey := ca, caKey
	if kind == CertificateFactory {
		leaf.IPAddresses, leaf.DNSNames = nil, nil
		signer, signerKey = leaf, key
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, signer, &key.PublicKey, signerKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	trusted := der
	if kind != CertificateFactory {
		if trusted, err = x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey); err != nil {
			return tls.Certificate{}, nil, err
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted}), nil
}

// reset ends the connection of an answer with a TCP reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: the stream is all there is to reset
		panic(http.ErrAbortHandler)
	}
	raw := conn
	if t, ok := conn.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if t, ok := raw.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // then it is a reset and no end
	}
	_ = raw.Close()
}
