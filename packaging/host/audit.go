package host

import (
	"context"
	"net/http"

	"pinion/api/audit"
	"pinion/server/peer"
)

// openAudit opens the record of what this host refuses, before there is anybody to refuse.
func (h *host) openAudit(context.Context) (err error) {
	if h.audit, err = audit.Open(h.dir.Join("audit"), h.log); err != nil {
		return err
	}
	h.onClose(h.audit.Close)
	return nil
}

// recordRefusal records what was refused between hosts: nobody is proved by what such a caller says it is.
func (h *host) recordRefusal(r peer.Refusal) {
	message := r.Reason.Error()
	if r.HostID != "" {
		message = "host " + r.HostID + ": " + message
	}
	h.audit.Record(audit.Entry{
		Outcome: audit.Refused, Address: r.Address, Operation: string(r.Operation), Status: http.StatusForbidden, Error: "AccessDeniedException", Message: message,
	})
}
