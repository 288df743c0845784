package types

import (
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// TaskOverrides is ECS's TaskOverride in an answer, which lists every container of the task by name.
type TaskOverrides struct {
	Containers                    []spec.ContainerOverride `json:"containerOverrides"`
	CPU                           string                   `json:"cpu,omitempty"`
	Memory                        string                   `json:"memory,omitempty"`
	TaskRoleARN                   string                   `json:"taskRoleArn,omitempty"`
	ExecutionRoleARN              string                   `json:"executionRoleArn,omitempty"`
	InferenceAcceleratorOverrides []struct{}               `json:"inferenceAcceleratorOverrides"`
}

// RenderedTask is a task with its JSON.
type RenderedTask struct {
	Task
	JSON []byte `json:"-"`
}

var _ wire.Appender = (*DescribeTasksOutput)(nil)

// AppendJSON appends the output as JSON. The tasks in it are JSON already.
func (o *DescribeTasksOutput) AppendJSON(text []byte) ([]byte, error) {
	size := 0
	for _, task := range o.Tasks {
		size += len(task.JSON) + len(",")
	}
	text = append(slices.Grow(text, size+64), `{"tasks":[`...)
	for i, task := range o.Tasks {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, task.JSON...)
	}
	text, err := wire.Append(append(text, `],"failures":`...), o.Failures)
	return append(text, '}'), err
}
