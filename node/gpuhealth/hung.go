package gpuhealth

import (
	"fmt"
	"time"

	"pinion/gpu"
)

// hungGrace is the time after which a GPU about which the driver does not answer needs a reboot of its host: drivers that hang for seconds recover.
const hungGrace = time.Minute

// isHung reports whether the driver does not answer about the GPU.
func (r *Record) isHung(uuid string) bool { return !r.hung[uuid].IsZero() }

// markHung shows a GPU about which the driver does not answer. It gets no tasks at once. Those that it has run on: a program may compute all the same.
// Called with the lock held.
func (r *Record) markHung(d *gpu.Device, now time.Time) {
	if d.Health != gpu.Hung {
		delete(r.hung, d.UUID)
		return
	}
	since, ok := r.hung[d.UUID]
	if !ok {
		since = now
		r.hung[d.UUID] = since
		r.log.Warn("the driver does not answer about a GPU", "gpu", d.UUID)
	}
	d.Health, d.Problem = gpu.Unhealthy, fmt.Sprintf("the driver has not answered about it since %s", since.UTC().Format(time.RFC3339))
	if now.Sub(since) >= hungGrace {
		d.Health, d.Problem = gpu.NeedsReboot, d.Problem+", it hangs: "+gpu.NeedsReboot.RecoveryAction()
	}
}
