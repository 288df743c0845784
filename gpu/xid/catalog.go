package xid

import "pinion/gpu"

// ranges are the errors that differ in the unit of the GPU alone.
var ranges = []struct {
	first, last uint64
	text        string
	health      gpu.Health
}{
	{1, 12, "an invalid command of the program", gpu.Healthy},
	{39, 41, "an error of a copy engine", gpu.Healthy},
	{69, 72, "an error of the program, seen by a copy or graphics engine", gpu.Healthy},
	{75, 77, "an error of a copy engine", gpu.Healthy},
	{82, 86, "an error of a video or copy engine", gpu.Healthy},
	{88, 89, "an error of a video engine", gpu.Healthy},
	{96, 105, "an error of a video engine", gpu.Healthy},
	{106, 108, "a message without effect", gpu.Healthy},
	{126, 135, "an error of a copy engine", gpu.Healthy},
	{144, 150, "an error of NVLink", gpu.NeedsReset},
	{152, 153, "an error of an accelerator for inference", gpu.Healthy},
	{160, 161, "a channel of its memory was retired", gpu.Healthy},
	{162, 165, "a change of power smoothing", gpu.Healthy},
}

var named = map[uint64]Error{
	13: {Text: "an exception of the program", Health: gpu.Healthy},
	31: {Text: "an invalid address in the program", Health: gpu.Healthy},
	32: {Text: "an invalid command of the program", Health: gpu.Healthy},
	43: {Text: "the program was stopped", Health: gpu.Healthy},
	45: {Text: "the program was ended after an error before", Health: gpu.Healthy},
	46: {Text: "the GPU has stopped working", Health: gpu.NeedsReset, EndsTasks: true},
	48: {Text: "an uncorrectable error of its memory", Health: gpu.NeedsReset},
	54: {Text: "its auxiliary power is not connected, or too weak", Health: gpu.NeedsReboot},
	60: {Text: "an error of the program, seen by the security engine", Health: gpu.Healthy},
	61: {Text: "its micro-controller has stopped", Health: gpu.NeedsReset, EndsTasks: true},
	62: {Text: "its micro-controller has stopped", Health: gpu.NeedsReset, EndsTasks: true},
	63: {Text: "a row of its memory is to be replaced by a spare one at its next reset", Health: gpu.Healthy},
	64: {Text: "a row of its memory could not be replaced by a spare one", Health: gpu.NeedsReset},
	66: {Text: "an invalid access of the driver", Health: gpu.Healthy},
	67: {Text: "an invalid access of the driver", Health: gpu.Healthy},
	68: {Text: "an error of a video engine", Health: gpu.Healthy},
	74: {Text: "an error of NVLink", Health: gpu.NeedsReset},
	78: {Text: "a virtual GPU could not be started", Health: gpu.NeedsReboot},
	80: {Text: "damaged data on the way to the GPU", Health: gpu.Healthy},
	81: {Text: "an error of its display", Health: gpu.NeedsReboot},
	92: {Text: "many corrected errors of its memory", Health: gpu.Healthy},
	93: {Text: "its record of errors is worn out", Health: gpu.Healthy},
	95: {Text: "an uncorrectable error of its memory, which every program on it has met", Health: gpu.NeedsReset, EndsTasks: true},

	Contained:   {Text: "an uncorrectable error of its memory, kept to the program that had it", Health: gpu.Healthy, EndsTasks: true},
	LostFromBus: {Text: "the GPU has fallen off the bus", Health: gpu.Lost, EndsTasks: true},

	109: {Text: "the GPU could not change from one program to another in time", Health: gpu.NeedsReset},
	110: {Text: "a fault of its security", Health: gpu.NeedsReset},
	119: {Text: "its system processor (GSP) does not answer", Health: gpu.NeedsReset, EndsTasks: true},
	120: {Text: "its system processor (GSP) has failed", Health: gpu.NeedsReset, EndsTasks: true},
	121: {Text: "an error on the link to the CPU", Health: gpu.Healthy},
	136: {Text: "NVLink could not be started", Health: gpu.NeedsReset},
	137: {Text: "an invalid access of the program through NVLink", Health: gpu.Healthy},
	139: {Text: "an error of the optical flow engine", Health: gpu.Healthy},
	140: {Text: "an uncorrectable error of its memory", Health: gpu.NeedsReset, EndsTasks: true},
	141: {Text: "an error of the program", Health: gpu.Healthy},
	143: {Text: "the GPU could not be started", Health: gpu.NeedsReset, EndsTasks: true},
	151: {Text: "a key of confidential computing could not be changed", Health: gpu.NeedsReboot, EndsTasks: true},

	RecoveryChanged: {Text: "the driver changed what it asks for", Health: gpu.Healthy},

	155: {Text: "an error of NVLink", Health: gpu.NeedsReset},
	156: {Text: "a part of the GPU is to be taken out of use at its next reset", Health: gpu.NeedsReset},
	157: {Text: "a part of the GPU could not be taken out of use", Health: gpu.Healthy},
	158: {Text: "the GPU has not answered in time", Health: gpu.NeedsReset, EndsTasks: true},
	167: {Text: "the GPU has not answered on the bus in time", Health: gpu.NeedsReset, EndsTasks: true},
	171: {Text: "an uncorrectable error of its memory", Health: gpu.NeedsReset},
	172: {Text: "an uncorrectable error of its caches", Health: gpu.NeedsReset},
}
