package judge

import "encoding/json"

// The shares that the spec has thresholds for are permille here, the finest unit that is
// judged by, and percent in JSON, as in the spec, the status and the records of suites.

// MarshalJSON writes VariationPermille as variationPercent.
func (j Judgement) MarshalJSON() ([]byte, error) {
	type plain Judgement
	return json.Marshal(struct {
		plain
		VariationPercent *float64 `json:"variationPercent,omitempty"`
	}{plain(j), percentOf(j.VariationPermille)})
}

// MarshalJSON writes WirePermille as wirePercent.
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary
	return json.Marshal(struct {
		plain
		WirePercent *float64 `json:"wirePercent,omitempty"`
	}{plain(s), percentOf(s.WirePermille)})
}

// MarshalJSON writes WirePermille as wirePercent.
func (d Direction) MarshalJSON() ([]byte, error) {
	type plain Direction
	return json.Marshal(struct {
		plain
		WirePercent *float64 `json:"wirePercent,omitempty"`
	}{plain(d), percentOf(d.WirePermille)})
}

// MarshalJSON writes WirePermille as wirePercent.
func (s StepSummary) MarshalJSON() ([]byte, error) {
	type plain StepSummary
	return json.Marshal(struct {
		plain
		WirePercent *float64 `json:"wirePercent,omitempty"`
	}{plain(s), percentOf(s.WirePermille)})
}

// percentOf is nil where a share is not known.
func percentOf(permille *int32) *float64 {
	if permille == nil {
		return nil
	}
	return new(float64(*permille) / 10)
}
