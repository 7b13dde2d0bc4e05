package runfile

import "fmt"

// ProgressKey is the ConfigMap key of one client's Progress.
func ProgressKey(index int32) string { return fmt.Sprintf("client-%d%s", index, KeyProgressSuffix) }

// ResultKey is the ConfigMap key of one client's result.
func ResultKey(index int32) string { return fmt.Sprintf("client-%d%s", index, KeyResultSuffix) }
