// Package spec is the vocabulary of the pool: the types of all nouns that the state machine (raftfsm) records, that the scheduler plans
// with, that agents run and that the API shows, and the pure functions on them.
//
//   - Effective merges the overrides of a task into its definition.
//   - Fits is the one answer to "does it fit", for the planner and for apply alike.
//   - Attributes and capabilities are derived from a host, requirements from a definition.
//   - Scheduling options (TermsOf) are read from the tags of a task.
//
// It imports gpu and nothing else of ours, and knows neither the log nor the state.
package spec
