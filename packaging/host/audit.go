package host

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"pinion/api/audit"
	"pinion/server/admission"
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
	h.audit.Record(audit.Line{
		Outcome: audit.Refused, Address: r.Address, Operation: string(r.Operation), Status: http.StatusForbidden, Error: "AccessDeniedException", Message: message,
	})
}

// recordSecrets records which secrets a host got for a task, on the leader, which gave them.
func recordSecrets(log *audit.Log) func(admission.Retrieval) {
	return func(given admission.Retrieval) {
		log.Record(audit.Line{
			Outcome: audit.Done, Address: "host " + given.HostID, Operation: "secrets of a task", Status: http.StatusOK,
			Message: fmt.Sprintf("task %s of cluster %s: %s", given.TaskID, given.Cluster, strings.Join(given.Secrets, ", ")),
		})
	}
}

// recordPrinted records what programs of this host were asked for by the tasks here.
func recordPrinted(log *audit.Log) func(taskID, cluster, reference string) {
	return func(taskID, cluster, reference string) {
		log.Record(audit.Line{
			Outcome: audit.Done, Address: "task " + taskID, Operation: "secret of a program", Status: http.StatusOK, Message: fmt.Sprintf("task %s of cluster %s: %s", taskID, cluster, reference),
		})
	}
}
