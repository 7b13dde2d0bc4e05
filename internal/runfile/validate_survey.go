package runfile

import "strings"

const (
	maxSurveySeconds  = 3600
	maxAggregateBytes = 255
)

// Validate checks what can be checked without asking the array. It finds all
// problems at once and returns them as Problems, or nil.
func (q SurveyRequest) Validate() error {
	c := &checker{}
	c.check(q.Version == SurveyVersion, "version", "is %q; write %q", q.Version, SurveyVersion)
	c.check(q.Source.Name != "", "source.name", "is empty; give the source a name")
	c.oneOf("source.kind", q.Source.Kind, SourceONTAP, SourceFlashBlade)
	if q.Source.Kind != "" {
		c.source("source", q.Source)
	}
	c.check(q.Export == "" || strings.HasPrefix(q.Export, "/"), "export",
		"is %q; write a path that begins with /", q.Export)
	c.check(q.Export != "" || q.Source.Volume != "", "export",
		"is empty, and so is source.volume; name one of them, or nothing tells which volume is meant")
	c.check(q.MoveTo == "" || q.Source.Kind == SourceONTAP, "moveTo",
		"is %q; only a volume of ONTAP can be moved", q.MoveTo)
	c.check(len(q.MoveTo) <= maxAggregateBytes, "moveTo", "has %d bytes; write the name of an aggregate", len(q.MoveTo))
	c.between("timeoutSeconds", int64(q.TimeoutSeconds), 0, maxSurveySeconds)
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}
