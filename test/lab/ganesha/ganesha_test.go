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
	if err := dial(array.LIFs[1]); err == nil {
		t.Error("a LIF that was cut answers")
	}
	if err := dial(array.LIFs[0]); err != nil {
		t.Errorf("the other LIF: %v", err)
	}
	for _, lif := range array.LIFs6[:min(2, len(array.LIFs6))] {
		if err := dial(lif); (err == nil) != (lif == array.LIFs6[0]) {
			t.Errorf("LIF 2 is cut, and %s says %v", lif, err)
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
	err := dial(array.Silent)
	if netErr, ok := err.(net.Error); !ok || !netErr.Timeout() { //nolint:errorlint // net.Dial promises this type
		t.Errorf("dialling %s: %v, want a timeout", array.Silent, err)
	}
}

func dial(host string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, "2049"), 2*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}
