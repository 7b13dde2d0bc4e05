package integration

import "maps"

// within1ms returns a capacity with one bound.
func within1ms(more fields) map[string]any {
	out := map[string]any{"milliseconds": int64(1)}
	maps.Copy(out, more)
	return out
}

// capacityRefusals cover mixed loads and the search for capacity.
func capacityRefusals() map[string]refusal {
	const raw, slob = "workload.raw.capacity", "workload.slob.capacity"
	users := []any{int64(16)}
	also := func(bound map[string]any) []any { return []any{bound} }
	return map[string]refusal{
		"MixedWithoutShare": {
			"workload.raw.pattern Mixed and RandomMixed read and write", exportSpec,
			fields{"workload.raw.pattern": "Mixed"},
			fields{"workload.raw.pattern": "Mixed", "workload.raw.readPercent": int64(1)},
		},
		"ShareWithoutMixed": {
			"workload.raw.readPercent is for the patterns", exportSpec,
			fields{"workload.raw.readPercent": int64(99)},
			// 8Ki is the block size of RandomMixed, as of the other random patterns.
			fields{"workload.raw.readPercent": int64(99), "workload.raw.pattern": "RandomMixed", "workload.raw.fileSize": "8Ki"},
		},
		"CapacityAtARate": {
			"workload.raw.capacity finds the rate by itself", exportSpec,
			fields{raw: within1ms(nil), "workload.raw.operationsPerSecond": int64(5)},
			fields{raw: within1ms(fields{"percentile": "p50", "arrivals": "Fixed"})},
		},
		"CapacityOfCopies": {
			"workload.raw.capacity needs operations of one size", exportSpec,
			fields{raw: within1ms(nil), "workload.raw.pattern": "Copy"},
			fields{raw: within1ms(nil), "workload.raw.pattern": "RandomWrite"},
		},
		"CapacityWithoutABound": {
			"give exactly one of capacity.milliseconds and capacity.microseconds", exportSpec,
			fields{raw: map[string]any{"percentile": "p99"}},
			fields{raw: map[string]any{"microseconds": int64(500)}},
		},
		"CapacityInTwoUnits": {
			"give exactly one of capacity.milliseconds and capacity.microseconds", exportSpec,
			fields{raw: within1ms(fields{"microseconds": int64(500)})},
			fields{raw: within1ms(nil)},
		},
		"FurtherBoundInTwoUnits": {
			"give exactly one of milliseconds and microseconds in each of capacity.alsoAt", exportSpec,
			fields{raw: within1ms(fields{"alsoAt": also(map[string]any{"percentile": "p999"})})},
			fields{raw: within1ms(fields{"alsoAt": also(map[string]any{"percentile": "p999", "milliseconds": int64(5)})})},
		},
		"LowerFurtherBound": {
			"capacity.alsoAt has a lower latency", exportSpec,
			fields{raw: within1ms(fields{"alsoAt": also(map[string]any{"microseconds": int64(999)})})},
			fields{raw: within1ms(fields{"alsoAt": also(map[string]any{"microseconds": int64(1000), "percentile": "p50"})})},
		},
		"CapacityOfARamp": {
			"workload.slob.capacity finds the load by itself", slobSpec,
			fields{slob: within1ms(nil), "workload.slob.users": []any{int64(1), int64(2)}},
			fields{slob: within1ms(nil), "workload.slob.users": users},
		},
		"CapacityOfScansInADatabase": {
			"workload.slob.capacity counts statements of a database, and a FullTableScan takes seconds", containerSpec,
			fields{slob: within1ms(nil), "workload.slob.users": users, "workload.slob.access": "FullTableScan"},
			fields{slob: within1ms(nil), "workload.slob.users": users},
		},
		"CapacityWithThinkTime": {
			"workload.slob.capacity starts operations by a schedule", slobSpec,
			fields{
				slob: within1ms(nil), "workload.slob.users": users,
				"workload.slob.think": map[string]any{"frequency": int64(1), "minimumMilliseconds": int64(0), "maximumMilliseconds": int64(1)},
			},
			fields{slob: within1ms(nil), "workload.slob.users": users},
		},
		"TooManySearches": {
			"a level of a search for capacity lasts 3600 s", exportSpec,
			fields{raw: within1ms(nil), "run": map[string]any{"repetitions": int64(21)}},
			fields{raw: within1ms(nil), "run": map[string]any{"repetitions": int64(20), "durationSeconds": int64(3600)}},
		},
		"MinCapacityOfARun": {
			"expect.minCapacity needs a capacity", exportSpec,
			fields{"expect.minCapacity": int64(40000)},
			fields{"expect.minCapacity": int64(40000), raw: within1ms(nil)},
		},
	}
}
