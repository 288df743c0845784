// Package alarm has the metric alarms of CloudWatch, as far as they start step scaling policies: the types, how the state keeps them, and the
// commands that change them. Package raftfsm registers both; package server/schedule/autoscale says which state an alarm has.
package alarm
