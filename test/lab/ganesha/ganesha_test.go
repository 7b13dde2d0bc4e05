package ganesha

import (
	"net"
	"os"
	"slices"
	"testing"
	"time"
)

func TestAnArrayAnswersOnEveryLinkUntilTheLinkIsCut(t *testing.T) {
	array := Start(t, "labtest", []string{"10.249.1.0/24", "10.249.2.0/24"})
	for _, lif := range append(slices.Clone(array.LIFs), array.LIFs6...) {
		if err := dial(lif); err != nil {
			t.Errorf("LIF %s: %v", lif, err)
		}
	}
	if info, err := os.Stat(array.Data); err != nil || !info.IsDir() {
		t.Errorf("data folder %s: %v", array.Data, err)
	}

	array.Cut(t, 2)
	if err := dialWithin(array.LIFs[1], silence); err == nil {
		t.Error("a LIF that was cut answers")
	}
	if err := dial(array.LIFs[0]); err != nil {
		t.Errorf("the other LIF: %v", err)
	}
	if len(array.LIFs6) > 0 {
		if err := dial(array.LIFs6[0]); err != nil {
			t.Errorf("LIF 2 is cut, and %s says %v", array.LIFs6[0], err)
		}
	}
	if len(array.LIFs6) > 1 {
		if err := dialWithin(array.LIFs6[1], silence); err == nil {
			t.Errorf("LIF 2 is cut, and %s answers", array.LIFs6[1])
		}
	}
	array.Heal(t, 2)
	for _, lif := range append(slices.Clone(array.LIFs), array.LIFs6...) {
		if err := dial(lif); err != nil {
			t.Errorf("healed LIF %s: %v", lif, err)
		}
	}
}

func TestAnArrayThatCrashedComesBackOnTheSameAddresses(t *testing.T) {
	array := Start(t, "labtest", []string{"10.249.1.0/24"})
	array.Crash(t)
	if err := dial(array.LIFs[0]); err == nil {
		t.Error("a server that crashed answers")
	}
	array.Revive(t)
	if err := dial(array.LIFs[0]); err != nil {
		t.Errorf("revived server: %v", err)
	}
}

func TestASilentAddressTimesOut(t *testing.T) {
	array := Start(t, "labtest", []string{"10.249.1.0/24"})
	err := dialWithin(array.Silent, silence)
	if netErr, ok := err.(net.Error); !ok || !netErr.Timeout() { //nolint:errorlint // net.Dial promises this type
		t.Errorf("dialling %s: %v, want a timeout", array.Silent, err)
	}
}

// silence is how long an address that drops everything is asked.
const silence = 2 * time.Second

// dial demands an answer. The limit is against hangs.
func dial(host string) error { return dialWithin(host, 2*time.Minute) }

func dialWithin(host string, limit time.Duration) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, "2049"), limit)
	if err != nil {
		return err
	}
	return conn.Close()
}
