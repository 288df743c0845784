package raftfsm

import (
	"fmt"
	"iter"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableClientTokens = register(noun[clientToken]{
		table: "tokens", indexes: []*table.Index[clientToken]{clientTokensByID, clientTokensByAge}, refersTo: []string{"tasks"},
		noChanges: "only a request that comes again asks for it",
		noCluster: "without the cluster no request comes again",
		expired: func(v *View, r Reap) iter.Seq[*clientToken] {
			return clientTokensByAge.Until(v, func(t *clientToken) bool { return !t.At.Before(r.TokensBefore) })
		},
	})
	clientTokensByID  = table.By((*clientToken).cluster).Then((*clientToken).text).HashPrefix()
	clientTokensByAge = table.ByNumber(func(t *clientToken) int64 { return sortkey.Time(t.At) }).Then((*clientToken).cluster).Then((*clientToken).text)
)

func (t *clientToken) cluster() string { return t.Cluster }
func (t *clientToken) text() string    { return t.Token }

// clientToken records the result of a client token, so that a repeated request gets the first result instead of being
// executed twice. It is valid while one of its tasks exists, and Reap deletes it. A request that started nothing is not
// recorded: repeating it starts nothing twice.
type clientToken struct {
	Cluster  string         `json:"cluster"`
	Token    string         `json:"token" compact:"own"`
	Hash     string         `json:"hash" compact:"own"` // digest of the request's parameters
	TaskIDs  []string       `json:"taskIds" compact:"own"`
	Failures []spec.Failure `json:"failures"`
	At       time.Time      `json:"at"`
}

// ClientTokenResult returns the result of a used client token, with its tasks in their present state. Nil and nil when the
// token is empty, unused or reaped; a *TokenConflict when its request had another hash.
func (v *View) ClientTokenResult(cluster, clientToken, hash string) (*spec.RunResult, error) {
	if clientToken == "" {
		return nil, nil
	}
	used := clientTokensByID.Get(v, sortkey.Key{First: cluster, Second: clientToken})
	if used == nil {
		return nil, nil
	}
	result := &spec.RunResult{Failures: used.Failures}
	for _, id := range used.TaskIDs {
		if task := v.Task(id); task != nil {
			result.Tasks = append(result.Tasks, task)
		}
	}
	if len(result.Tasks) == 0 {
		return nil, nil
	}
	if used.Hash != hash {
		return nil, fmt.Errorf("cluster %s: %w", cluster, &spec.ClientTokenConflict{TaskIDs: used.TaskIDs})
	}
	return result, nil
}
