"""What position bias is, what every number means, what it rests on, and how the method was checked."""

from rubriclab.app import frame

frame.show("learn")
