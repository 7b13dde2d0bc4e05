// Package seeds builds results that have the figures which people published of
// their own experiments. Tests judge and show them: what comes out must be what
// was printed. It holds figures only; config/samples repeats the experiments.
package seeds
