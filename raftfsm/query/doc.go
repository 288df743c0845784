// Package query is ECS's cluster query language: expressions that select hosts by what they are and what they run, for
// placement constraints (memberOf) and for the filter of ListContainerInstances.
//
//	expression := and { ("||"|"or") and }
//	and        := not { ("&&"|"and") not }
//	not        := ("!"|"not") not | "(" expression ")" | comparison
//	comparison := subject operator [argument]
//	subject    := "attribute:"NAME | "task:group" | "agentVersion" | "agentConnected" | "ec2InstanceId"
//	            | "registeredAt" | "runningTasksCount"
//	operator   := "=="|equals | "!="|not_equals | ">"|greater_than | ">="|greater_than_equal | "<"|less_than
//	            | "<="|less_than_equal | exists | "!exists"|not_exists | in | "!in"|not_in | "=~"|matches | "!~"|not_matches
//	argument   := value | "[" value {"," value} "]"      (the list for in and not_in, nothing for exists)
//	value      := bare | 'quoted' | "quoted"             (the quote itself is written twice inside)
//
// A bare value is anything without blanks and without ( ) [ ] , = ! < > ~ & | and quotes; a bare pattern may hold [ and ].
//
// What a comparison means where ECS's documentation leaves room:
//   - A host without the attribute meets no comparison with it but not_exists; != selects hosts that have another value.
//   - task:group is about the host's tasks that are meant to run: == asks for one of the group, != for none of the group.
//   - > and < on attributes compare numbers with dots (8, 535.104.05) part by part, everything else as text.
//   - agentVersion compares as a version: 1.10 is after 1.9, 1.2 equals 1.2.0, 1.2-rc1 is before 1.2.
//   - registeredAt compares in the precision of the argument: == 2018-06-18 is that whole day, in UTC.
//   - Patterns have to match the whole value. They are Go's RE2, which has neither look-around nor back-references,
//     and those of one expression have 1,000 instructions together (MaxInstructions), and classes of 25,000 characters.
package query
