package runfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxConnectBytes is far above any connect string.
const maxConnectBytes = 2048

var (
	ezConnect = regexp.MustCompile(`^(tcps?://)?[A-Za-z0-9.:_\[\]-]+/[A-Za-z0-9._$#-]+(\?[A-Za-z0-9_=&./-]+)?$`)
	// credentials matches user/password@ or user/password// before a host.
	credentials = regexp.MustCompile(`[@"']|^[^/?]*/[^/?]*/`)

	descriptorKey  = regexp.MustCompile(`^\(([A-Za-z_]{1,30})=`)
	descriptorWord = regexp.MustCompile(`^([A-Za-z0-9_.:/$#*,-]{1,255}|"[A-Za-z0-9_.:/$#*,=-]{1,255}")\)`)
)

// descriptorKeys returns the keywords that a connect descriptor may have. Other keywords are useless for a
// load, or let the client do more than connect: PROTOCOL=BEQ starts a program.
func descriptorKeys() []string {
	return strings.Fields("DESCRIPTION_LIST DESCRIPTION ADDRESS_LIST ADDRESS CONNECT_DATA SECURITY " +
		"PROTOCOL HOST PORT SERVICE_NAME SID INSTANCE_NAME SERVER LOAD_BALANCE FAILOVER ENABLE SDU EXPIRE_TIME " +
		"CONNECT_TIMEOUT TRANSPORT_CONNECT_TIMEOUT RETRY_COUNT RETRY_DELAY SEND_BUF_SIZE RECV_BUF_SIZE " +
		"SSL_SERVER_DN_MATCH SSL_SERVER_CERT_DN SSL_VERSION WALLET_LOCATION MY_WALLET_DIRECTORY")
}

// connect checks an EZConnect string or a connect descriptor. No error contains the string, because it may
// begin with user/password@.
func (c *checker) connect(at, s string) {
	_, bare, hasScheme := strings.Cut(s, "://")
	if !hasScheme {
		bare = s
	}
	switch {
	case s == "":
		c.check(false, at, "is empty; write host:port/service")
	case len(s) > maxConnectBytes:
		c.check(false, at, "has %d bytes; write at most %d", len(s), maxConnectBytes)
	case strings.HasPrefix(s, "("):
		err := checkDescriptor(s)
		c.check(err == nil, at, "is no connect descriptor: %v", err)
	case credentials.MatchString(bare):
		c.check(false, at, "holds a user name or password; write host:port/service alone, and put them into the credentials")
	default:
		c.check(ezConnect.MatchString(s), at, "is neither an EZConnect string nor a connect descriptor; write "+
			"host:port/service, such as db1.example:1521/ORCLPDB1, tcps://host:port/service, or (DESCRIPTION=...)")
	}
}

// checkDescriptor parses (KEY=value) and (KEY=(KEY=value)...), without blanks.
func checkDescriptor(s string) error {
	seen := map[string]bool{}
	rest, depth := s, 0
	for first := true; first || depth > 0; first = false {
		if depth > 0 && strings.HasPrefix(rest, ")") {
			rest, depth = rest[1:], depth-1
			continue
		}
		key, left, open, err := checkPair(rest)
		if err != nil {
			return err
		}
		seen[key], rest, depth = true, left, depth+open
	}
	switch {
	case rest != "":
		return errors.New("it has text after its last parenthesis; remove it")
	case !seen["HOST"] || !seen["SERVICE_NAME"] && !seen["SID"]:
		return errors.New("it names no HOST, or neither SERVICE_NAME nor SID; write them")
	}
	return nil
}

// checkPair parses (KEY=value), or the beginning of a pair whose value is another pair. It returns the rest,
// and the number of parentheses that it leaves open.
func checkPair(s string) (key, left string, open int, err error) {
	m := descriptorKey.FindStringSubmatch(s)
	if m == nil {
		return "", "", 0, errors.New("its parentheses do not match, or it has blanks; write (KEY=value) and nothing between")
	}
	key, left = strings.ToUpper(m[1]), s[len(m[0]):]
	if !slices.Contains(descriptorKeys(), key) {
		return "", "", 0, fmt.Errorf("it has %s; write only %s", key, strings.Join(descriptorKeys(), ", "))
	}
	if strings.HasPrefix(left, "(") {
		return key, left, 1, nil
	}
	word := descriptorWord.FindStringSubmatch(left)
	if word == nil {
		return "", "", 0, fmt.Errorf("the value of %s is empty or has other characters than letters, digits and "+
			"_ . : / $ # * , -", key)
	}
	if key == "PROTOCOL" && !strings.EqualFold(word[1], "tcp") && !strings.EqualFold(word[1], "tcps") {
		return "", "", 0, errors.New("its PROTOCOL is neither tcp nor tcps; write one of them")
	}
	return key, left[len(word[0]):], 0, nil
}
