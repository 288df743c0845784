// Package cloudwatch serves the metric alarms of Amazon CloudWatch (its endpoint and signatures are called monitoring), as far as they start step
// scaling policies: PutMetricAlarm, DescribeAlarms, DeleteAlarms and what clients call beside them. Clients speak one of three protocols, by their
// version: JSON, the query protocol, or CBOR.
//
// An alarm is of a service. Whoever may scale the service may change the alarm, and whoever sees the service sees it.
package cloudwatch
