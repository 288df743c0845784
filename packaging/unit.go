// Package packaging has what comes with the program.
package packaging

import _ "embed"

// Unit is the systemd unit of a host.
//
//go:embed pinion.service
var Unit string
