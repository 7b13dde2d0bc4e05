package runfile

import (
	"fmt"
	"net/url"
	"strings"
)

// source checks one source, whose path in the file is at.
func (c *checker) source(at string, s Source) {
	c.oneOf(at+".kind", s.Kind, sourceKinds()...)
	if s.Kind == SourceExporter {
		c.check(len(s.Nodes) > 0, at+".nodes", "is empty; name the servers and their metrics addresses")
		for i, n := range s.Nodes {
			node := fmt.Sprintf("%s.nodes[%d]", at, i)
			c.check(n.Name != "", node+".name", "is empty; give each server a name")
			c.address(node+".url", n.URL)
		}
	} else {
		c.address(at+".url", s.URL)
	}
	c.check(!strings.ContainsAny(s.Credentials, `/\`+"\x00") && s.Credentials != "." && s.Credentials != "..",
		at+".credentials",
		"is %q; write the name of one folder below that of the secrets", s.Credentials)
	c.check(s.CABundle == "" || strings.Contains(s.CABundle, "-----BEGIN CERTIFICATE-----"), at+".caBundle",
		"holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
	if s.IntervalMilliseconds != 0 {
		c.between(at+".intervalMilliseconds", int64(s.IntervalMilliseconds), minIntervalMillis, maxIntervalMillis)
	}
}

// address checks an HTTP address. A password in it would be in every copy of the
// plan, so it is refused, and not repeated.
func (c *checker) address(at, address string) {
	u, err := url.Parse(address)
	if err == nil && u.User != nil {
		c.check(false, at, "holds a user name or password; put them into the credentials")
		return
	}
	c.check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", at,
		"is %q; write an http or https URL with a host", address)
}
