package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// OneOf returns the value of values that a flag names in any case.
func OneOf[T ~string](flag string, value T, values []T) (T, error) {
	v, err := oneOf(value, values, nil)
	if err != nil {
		err = fmt.Errorf("--%s is %q; %w", flag, value, err)
	}
	return v, err
}

// oneOf returns the value of values that value names in any case, or the value of also for it in lower case.
func oneOf[T ~string](value T, values []T, also map[string]T) (T, error) {
	if other, ok := also[strings.ToLower(string(value))]; ok {
		return other, nil
	}
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(string(v), string(value)) })
	if i < 0 {
		return "", errors.New("use " + Listed(values))
	}
	return values[i], nil
}

// CompleteValues completes a flag with fixed values.
func CompleteValues[T ~string](cmd *cobra.Command, flag string, values ...T) {
	// It fails for an unknown flag only.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words(values), cobra.ShellCompDirectiveNoFileComp))
}

// Listed joins values for a sentence.
func Listed[T ~string](values []T) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(words(values), ", ")
}

func words[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
