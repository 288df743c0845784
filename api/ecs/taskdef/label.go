package taskdef

import (
	"pinion/raftfsm/label"
	"pinion/raftfsm/scaling"
)

// maxLabel is how long a label and its value may be together: containerd's limit.
const maxLabel = 4096

// checkLabels refuses labels that containerd cannot hold, and those that would control it or Pinion.
func checkLabels(c container) error {
	for name, value := range c.DockerLabels {
		switch {
		case name == "" || len(name)+len(value) > maxLabel:
			return c.errorf("dockerLabels", "dockerLabels: %.64q must have a name, and at most %d characters with its value.", name, maxLabel)
		case hasNUL([]string{name, value}):
			return c.errorf("dockerLabels", "dockerLabels: %.64q must not contain NUL characters.", name)
		case label.Reserved(name):
			return c.errorf("dockerLabels", "dockerLabels: %q is reserved for the container runtime and Pinion: choose another name.", name)
		}
	}
	if _, _, err := scaling.ExportPort(c.DockerLabels); err != nil {
		return c.errorf("dockerLabels", "dockerLabels: %v.", err)
	}
	return nil
}

// checkInteractive refuses a standard input that would end at once; a terminal stays open.
func checkInteractive(c container) error {
	if !isTrue(c.Interactive) || isTrue(c.PseudoTerminal) {
		return nil
	}
	return c.errorf("interactive", "interactive is not supported by Pinion yet without pseudoTerminal: nobody writes to the standard input of a task, and it ends at once. Remove interactive, or set pseudoTerminal to true, with which it stays open.")
}

func isTrue(b *bool) bool { return b != nil && *b }
