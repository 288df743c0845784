// Package history keeps the tasks that have ended, for days: out of the replicated state, which forgets them after an hour, in a
// database of its own on every server. DESIGN.md tells how it is fed and what it promises.
package history
