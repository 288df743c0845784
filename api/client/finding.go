package client

import "context"

// Finding is what one check of a host's machine has found.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"` // FindingOK, FindingWarning or FindingFailed
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// Levels of findings.
const (
	FindingOK      = "ok"
	FindingWarning = "warning"
	FindingFailed  = "failed"
)

// ExamineHost has a host check its machine, as `pinion doctor` does there.
func ExamineHost(ctx context.Context, c *Client, hostID string) (found []Finding, err error) {
	return found, c.Get(ctx, "/v1/admin/hosts/"+hostID+"/doctor", nil, &found)
}
