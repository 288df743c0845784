package gpu

import (
	"fmt"
	"strings"
)

// Finding is what is wrong with a device. Without a problem nothing is.
type Finding struct {
	Health  Health
	Problem string // for people: what has happened, and what to do
}

// NVLinksDown is the finding for a device that has so many NVLinks, of which some are down. Tasks that have it run on: the driver tells their
// programs of an error when they need the links.
func NVLinksDown(down, all int) Finding {
	if down <= 0 {
		return Finding{}
	}
	are := "are"
	if down == 1 {
		are = "is"
	}
	return Finding{NeedsReset, fmt.Sprintf("%d of its %d NVLinks %s down: %s", down, all, are, NeedsReset.RecoveryAction())}
}

// FabricState is the state of a device in an NVLink fabric: the NVSwitches of its machine or rack, and their Fabric Manager.
type FabricState string

// The states in which a device cannot be used, in the words of the driver.
const (
	FabricInProgress    FabricState = "in-progress"   // the device is not registered yet; CUDA does not start before
	FabricFailed        FabricState = "failed"        // it could not be registered
	FabricMisconfigured FabricState = "misconfigured" // it is registered in a way that does not fit the fabric
	FabricRecovering    FabricState = "recovering"    // the fabric looks for other routes to it
	FabricUnhealthy     FabricState = "unhealthy"     // there is no route to it that works
)

// FabricStates are all of them.
func FabricStates() []FabricState {
	return []FabricState{FabricInProgress, FabricFailed, FabricMisconfigured, FabricRecovering, FabricUnhealthy}
}

// managerLog is where an operator learns more.
const managerLog = "see `journalctl -u nvidia-fabricmanager`"

// Finding is what is wrong with a device in the state; the detail is the driver's reason, which may be empty. What the fabric mends by itself makes
// a device UNHEALTHY for that time.
func (s FabricState) Finding(detail string) Finding {
	if detail != "" {
		detail = " (" + strings.ReplaceAll(detail, "_", " ") + ")"
	}
	switch s {
	case FabricInProgress:
		return Finding{Unhealthy, "it has not joined its NVLink fabric yet, and CUDA does not start on it before: the Fabric Manager of the driver's version has to run, " + managerLog}
	case FabricFailed:
		return Finding{NeedsReset, "it could not join its NVLink fabric" + detail + ": " + managerLog + ", then " + NeedsReset.RecoveryAction()}
	case FabricMisconfigured:
		return Finding{Unhealthy, "its NVLink fabric is configured in another way than it" + detail + ": " + managerLog}
	case FabricRecovering:
		return Finding{Unhealthy, "its NVLink fabric is looking for other routes to it: wait"}
	case FabricUnhealthy:
		return Finding{NeedsReset, "its NVLink fabric has no route to it that works: " + NeedsReset.RecoveryAction()}
	}
	return Finding{}
}
