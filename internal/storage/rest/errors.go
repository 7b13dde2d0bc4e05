package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxMessageBytes bounds a server's message inside an error.
const maxMessageBytes = 512

// StatusError is an answer that is not a success. Its status may still be 2xx.
type StatusError struct {
	Status int
	// Code and Message come from the answer, if it has any.
	Code, Message string
	// retryAfter is the pause that the server requests; negative = none.
	retryAfter time.Duration
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the answer is %d %s", e.Status, http.StatusText(e.Status))
	if e.Status >= 300 && e.Status < 400 {
		s += " (redirects are not followed: give the address itself)"
	}
	if e.Code != "" {
		s += ", code " + e.Code
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// ConnectError means that there is no connection to a host.
type ConnectError struct {
	// BaseURL is the address of the host, and Port the port that was dialed.
	BaseURL, Port string
	// Within bounded the dialing and the TLS handshake.
	Within time.Duration
	Err    error
}

func (e *ConnectError) Error() string {
	why := e.Err
	if op, ok := errors.AsType[*net.OpError](why); ok {
		why = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](why); ok {
		why = call.Err
	}
	if _, name := errors.AsType[*net.DNSError](why); !name && e.silent() {
		return fmt.Sprintf("no answer from %s within %g s", e.BaseURL, e.Within.Seconds())
	}
	return fmt.Sprintf("no connection to %s: %s", e.BaseURL, why)
}

func (e *ConnectError) Unwrap() error { return e.Err }

// silent reports whether nothing answered in time.
func (e *ConnectError) silent() bool {
	failed, ok := errors.AsType[net.Error](e.Err)
	return ok && failed.Timeout()
}

// connectError returns the error of dialing address without the words of the library, and an error of TLS as it is.
func (c Config) connectError(address string, err error) error {
	_, port, _ := net.SplitHostPort(address)
	e := &ConnectError{BaseURL: c.BaseURL, Port: port, Within: c.ConnectTimeout, Err: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" || e.silent() {
		return e
	}
	return err
}

// isSilent reports whether nothing answered an attempt to connect.
func isSilent(err error) bool {
	e, ok := errors.AsType[*ConnectError](err)
	return ok && e.silent()
}

// permanent reports whether the status refuses the same request forever.
func (c *Client) permanent(status int) bool {
	if c.cfg.Repeat != nil {
		return !c.cfg.Repeat(status)
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusTooEarly:
		return false
	}
	return status < http.StatusInternalServerError || status == http.StatusNotImplemented
}

// statusError makes an error from the body of an answer: ONTAP's {"error":{"message","code"}}, FlashBlade's
// {"errors":[{"context","message"}]}, Prometheus' {"errorType","error"}, Kubernetes' {"message"}, or text.
// redact removes secrets from it.
func statusError(status int, body []byte, redact func(string) string) *StatusError {
	// Redact before cutting, because a cut could leave half a secret.
	say := func(s string) string { return plain(redact(s)) }
	e := &StatusError{Status: status, retryAfter: -1}
	var doc struct {
		Error     json.RawMessage `json:"error"`
		ErrorType string          `json:"errorType"`
		Message   string          `json:"message"`
		Errors    []struct {
			Message string `json:"message"`
			Context string `json:"context"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &doc) != nil {
		if !bytes.Contains(body, []byte("<")) { // an HTML page explains nothing
			e.Message = say(string(body))
		}
		return e
	}
	var one struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(doc.Error, &one) == nil:
		e.Code, e.Message = redact(Code(one.Code)), say(one.Message)
	case json.Unmarshal(doc.Error, &text) == nil:
		e.Code, e.Message = say(doc.ErrorType), say(text)
	case len(doc.Errors) > 0:
		e.Message = say(strings.TrimPrefix(doc.Errors[0].Context+": "+doc.Errors[0].Message, ": "))
	default:
		e.Message = say(doc.Message)
	}
	return e
}

// Code returns an error code that a server may write as a string or as a number.
func Code(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return plain(s)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return plain(n.String())
	}
	return ""
}

// plain makes one printable line of bounded length from a server's text.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessageBytes {
		s = strings.ToValidUTF8(s[:maxMessageBytes], "") + " ..."
	}
	return s
}

// Reason classifies err as one of the reasons of a survey in runfile, such as SurveyRefused. A SurveyError has its own.
func Reason(err error) string {
	if survey, ok := errors.AsType[*storage.SurveyError](err); ok {
		return survey.Reason
	}
	if status, ok := errors.AsType[*StatusError](err); ok {
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			return runfile.SurveyRefused
		}
		return runfile.SurveyFailed
	}
	var gone net.Error
	switch {
	case isUntrusted(err):
		return runfile.SurveyUntrusted
	case errors.As(err, &gone), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return runfile.SurveyUnreachable
	}
	return runfile.SurveyFailed
}

func isUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// transportError returns the error of a request without an answer. It removes the URL, whose query may be
// secret, and adds advice for a certificate error. With Config.Repeat it does not, because the host may have
// another certificate at the next attempt.
func (c *Client) transportError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	var verify *tls.CertificateVerificationError
	switch {
	case c.cfg.Repeat != nil:
	case errors.As(err, &verify):
		return storage.Permanent(fmt.Errorf("the certificate cannot be verified: %w: put the certificate of its issuer into "+
			"tls.caBundle of storage.array, or accept any with tls.verification: Disabled; "+
			"the certificate that ONTAP comes with names no address (no SAN) and can never be verified", err))
	case isUntrusted(err):
		return storage.Permanent(fmt.Errorf("no TLS connection is possible: %w: check address and port", err))
	}
	return err
}
