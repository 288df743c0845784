package view

import (
	"cmp"

	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Statuses of an attachment, ECS's.
const (
	attachmentPrecreated = "PRECREATED"
	attachmentAttaching  = "ATTACHING"
	attachmentAttached   = "ATTACHED"
	attachmentDeleted    = "DELETED"
)

// addNetwork adds the attachment of a task with an address of its own: its connection to the network of its host's tasks. host is nil before it has one.
func addNetwork(out *types.Task, t *spec.Task, host *spec.Host) {
	attachment := types.Attachment{ID: attachmentID(t.ID), Type: "ElasticNetworkInterface", Status: attachmentPrecreated, Details: []types.KeyValuePair{}}
	detail := func(name, value string) {
		if value != "" {
			attachment.Details = append(attachment.Details, types.KeyValuePair{Name: name, Value: value})
		}
	}
	address := ""
	for i := range t.Containers {
		address = cmp.Or(address, t.Containers[i].Address)
	}
	if host != nil && host.TaskNetwork != nil {
		attachment.Status = attachmentAttaching
		detail("subnetId", host.TaskNetwork.Name)
	}
	if detail("privateIPv4Address", address); address != "" {
		attachment.Status = attachmentAttached
	}
	if t.LastStatus == spec.Stopped {
		attachment.Status = attachmentDeleted
	}
	out.Attachments = []types.Attachment{attachment}
	for i := range out.Containers {
		out.Containers[i].NetworkInterfaces = append(out.Containers[i].NetworkInterfaces, networkInterfaces(t, &t.Containers[i])...)
	}
}

// networkInterfaces are those of a container: that of its task, when it has an address of its own.
func networkInterfaces(t *spec.Task, c *spec.Container) []types.NetworkInterface {
	if c.Address == "" {
		return nil
	}
	return []types.NetworkInterface{{AttachmentID: attachmentID(t.ID), PrivateIpv4Address: c.Address}}
}

// attachmentID is the id of the attachment of a task, whose id is 32 hex digits, in the form of ECS.
func attachmentID(id string) string {
	if len(id) != 32 {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// networkConfiguration is that of a revision whose tasks have addresses of their own; nil for others.
func networkConfiguration(of *service.Revision) *types.NetworkConfiguration {
	if of == nil || len(of.Subnets) == 0 {
		return nil
	}
	return &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{Subnets: of.Subnets, SecurityGroups: []string{}, AssignPublicIp: "DISABLED"}}
}
