package runfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// The bounds of a database.
const (
	maxConnects       = 64
	maxParameters     = 128
	maxParameterBytes = 512
	maxSIDBytes       = 12
	roleSYSDBA        = "SYSDBA"
)

// The distributions of database images.
const (
	DistributionOracle = "Oracle"
	DistributionGvenzl = "Gvenzl"
)

// What names and values may be made of, so that nothing else can get into a
// connection or a statement by them.
var (
	userName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$#]{0,127}$`)
	sidName        = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	parameterName  = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,79}$`)
	parameterValue = regexp.MustCompile(`^[A-Za-z0-9_./:, +-]+$`)
	ezConnect      = regexp.MustCompile(`^[A-Za-z0-9.:_\[\]-]+/[A-Za-z0-9._$#-]+(\?[A-Za-z0-9_=&.-]+)?$`)
	// credentials stand as user/password@ or user/password// before a host.
	credentials = regexp.MustCompile(`[@"']|^[^/?]*/[^/?]*/`)
)

func (c *checker) database(d Database, p Plan) {
	const at = "database"
	c.oneOf(at+".kind", d.Kind, DatabaseContainer, DatabaseExternal)
	c.connect(at+".adminConnect", d.AdminConnect)
	c.check(len(d.Connects) > 0 && len(d.Connects) <= maxConnects, at+".connects",
		"has %d entries; say where the sessions of the load go: 1 to %d services", len(d.Connects), maxConnects)
	for i, s := range d.Connects {
		c.connect(fmt.Sprintf("%s.connects[%d]", at, i), s)
	}
	c.check(d.User == "" || userName.MatchString(d.User), at+".user",
		"is not a user name of letters, digits, _, $ and #; a password does not belong here")
	c.oneOf(at+".role", d.Role, "", roleSYSDBA)
	c.check(d.DirectNFS == (p.Engine.Client == ClientDirectNFS), at+".directNFS",
		"is %t, but engine.client is %q; write the same of both", d.DirectNFS, p.Engine.Client)
	c.parameters(at+".parameters", d.Parameters)
	c.check(p.Clients == 1, "clients", "is %d, but a database is loaded by one client; write 1", p.Clients)
	if d.Kind == DatabaseExternal {
		c.external(at, d)
	} else {
		c.container(at, d, p.Engine)
	}
}

// connect checks an EZConnect string. It never repeats it: somebody may have
// written user/password@ in front.
func (c *checker) connect(at, s string) {
	switch {
	case s == "":
		c.check(false, at, "is empty; write host:port/service")
	case credentials.MatchString(s):
		c.check(false, at, "holds a user name or password; write host:port/service alone, and put them into the credentials")
	default:
		c.check(ezConnect.MatchString(s), at,
			"is no EZConnect string; write host:port/service, such as db1.example:1521/ORCLPDB1")
	}
}

// parameters checks what goes into ALTER SYSTEM statements.
func (c *checker) parameters(at string, params map[string]string) {
	c.check(len(params) <= maxParameters, at, "has %d entries; keep it at or below %d", len(params), maxParameters)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		c.check(parameterName.MatchString(name), at,
			"%q is no name of an init parameter; write lower case letters, digits and _", name)
		v := params[name]
		c.check(len(v) <= maxParameterBytes && parameterValue.MatchString(v), at+"."+name,
			"has a value with other characters than letters, digits, blanks and _ . / : , + -, or none; correct it")
	}
}

func (c *checker) container(at string, d Database, e Engine) {
	c.check(d.User != "", at+".user", "is empty; name the user, such as sys")
	c.oneOf(at+".distribution", d.Distribution, DistributionOracle, DistributionGvenzl)
	c.check(len(d.SID) <= maxSIDBytes && sidName.MatchString(d.SID), at+".sid",
		"is %q; write at most %d letters and digits, such as ORCLCDB", d.SID, maxSIDBytes)
	c.check(e.MountPath == d.DataDirectory, at+".dataDirectory",
		"is %q, but engine.mountPath is %q; write the same of both", d.DataDirectory, e.MountPath)
	c.between(at+".startupTimeoutSeconds", int64(d.StartupTimeoutSeconds), 1, maxSpanSeconds)
}

// external checks that nothing is asked of a database that is not ours.
func (c *checker) external(at string, d Database) {
	const not = "is set, but a database that exists is left as it is; remove it"
	c.check(len(d.Parameters) == 0, at+".parameters", not)
	c.check(!d.RestartBeforeRun, at+".restartBeforeRun", not)
	c.check(d.DataDirectory == "", at+".dataDirectory", not)
	c.check(d.Distribution == "", at+".distribution", not)
	c.check(d.SID == "", at+".sid", not)
	c.check(d.StartupTimeoutSeconds == 0, at+".startupTimeoutSeconds", not)
}
