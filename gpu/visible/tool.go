package visible

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
)

// findTool returns the path of nvidia-smi, "" when there is none. An image may have no PATH, so the usual path is tried
// too.
func findTool() string {
	for _, name := range []string{"nvidia-smi", "/usr/bin/nvidia-smi"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func runTool(path string) *Tool {
	if path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	var errOut bytes.Buffer
	command := exec.CommandContext(ctx, path, "-L")
	command.Stderr = &errOut
	command.WaitDelay = toolTimeout / 10
	out, err := command.Output()
	tool := &Tool{Path: path, Lines: []string{}}
	said := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		tool.Error = "no answer within " + toolTimeout.String()
	case err != nil:
		// nvidia-smi reports errors on stdout or on stderr.
		tool.Error = strings.Join(strings.Fields(said+" "+errOut.String()+" ("+err.Error()+")"), " ")
	case said != "":
		tool.Lines = strings.Split(said, "\n")
	}
	return tool
}
