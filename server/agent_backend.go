package server

import (
	"pinion/server/admission"
	"pinion/server/membership"
	"pinion/server/orchestrator"
	"pinion/server/peer"
	"pinion/server/prefetch"
	"pinion/server/rpc"
	"pinion/server/tracker"
)

// AgentBackend has the calls of a host to the leader, whichever host that is, beside the session of its agent. Each part also answers the same call of
// other hosts.
type AgentBackend struct {
	Admission   *admission.HostCalls
	TaskSecrets admission.TaskSecrets
	Protection  orchestrator.TaskProtection
	HostTags    membership.HostTags
	ACME        admission.ACMECalls
	Blobs       *tracker.PeerTransport
	Prefetch    *prefetch.Receiver
}

// newAgentBackend wires that of a member.
func newAgentBackend(m *Member, leadership rpc.Leadership) AgentBackend {
	l, hostID := &m.server, m.cfg.HostID
	keys := leading(l, func(s *Server) *admission.AccessKeys { return s.accessKeys })
	return AgentBackend{
		Admission: &admission.HostCalls{
			Leader: leadership, HostID: hostID, Identity: m.cfg.Identity, IsServer: m.auth.IsServer,
			Authority: leading(l, func(s *Server) *admission.Authority { return s.authority }),
			Keys:      keys,
		},
		TaskSecrets: admission.TaskSecrets{
			Leader: leadership, HostID: hostID, Sealer: admission.SecretSealer{Keys: keys, OnRetrieval: m.cfg.SecretsGiven}, Refusals: m.cfg.Port.ReportRefusal,
		},
		Protection: orchestrator.TaskProtection{
			Leader: leadership, HostID: hostID, Recorder: leading(l, func(s *Server) orchestrator.ProtectionRecorder { return s.node }),
		},
		HostTags: membership.HostTags{Leader: leadership, HostID: hostID, Server: leading(l, func(s *Server) membership.LinearizableReader { return s.node })},
		ACME:     admission.ACMECalls{Leader: leadership, HostID: hostID, Cache: leading(l, func(s *Server) *admission.ACMECache { return s.acme })},
		Blobs: tracker.NewPeerTransport(tracker.PeerTransportConfig{
			Leader: leadership, HostID: hostID, Dialer: peer.Dialer{Identity: m.cfg.Identity, Authorize: m.auth.AuthorizeAny}, Now: m.cfg.Now,
			Tracker: leading(l, func(s *Server) *tracker.Tracker { return s.tracker }),
		}),
		Prefetch: new(prefetch.Receiver),
	}
}
