package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBurstFollowsTheRate(t *testing.T) {
	cases := map[string]struct{ reason, conf, want string }{
		"Large": {
			reason: "a hundredth of a second of 1 Gbit/s is 10 Mbit",
			conf:   `{"name":"n","runtimeConfig":{"bandwidth":{"ingressRate":1000000000,"ingressBurst":4294967295}}}`,
			want:   `{"name":"n","runtimeConfig":{"bandwidth":{"ingressRate":1000000000,"ingressBurst":10000000}}}`,
		},
		"Small": {
			reason: "a bucket must hold the largest packet that the kernel hands down, 64 KiB",
			conf:   `{"runtimeConfig":{"bandwidth":{"egressRate":1000000,"egressBurst":4294967295}}}`,
			want:   `{"runtimeConfig":{"bandwidth":{"egressRate":1000000,"egressBurst":524288}}}`,
		},
		"Capitals": {
			reason: "containerd marshals a struct without tags",
			conf:   `{"runtimeConfig":{"bandwidth":{"IngressRate":100000000,"IngressBurst":4294967295}}}`,
			want:   `{"runtimeConfig":{"bandwidth":{"IngressRate":100000000,"IngressBurst":1000000}}}`,
		},
		"Unshaped": {
			reason: "a rate of zero means no limit, and a burst without a rate is refused by the plugin",
			conf:   `{"runtimeConfig":{"bandwidth":{"ingressRate":0,"ingressBurst":0}},"big":18446744073709551615}`,
			want:   `{"runtimeConfig":{"bandwidth":{"ingressRate":0,"ingressBurst":0}},"big":18446744073709551615}`,
		},
		"Absent": {
			reason: "pods without annotations pass unchanged",
			conf:   `{"prevResult":{"ips":[]}}`,
			want:   `{"prevResult":{"ips":[]}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := withBurst([]byte(tc.conf))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tc.want), decode(t, string(got))); diff != "" {
				t.Errorf("%s: withBurst (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
