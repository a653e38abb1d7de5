"""What agents learned, as event files that TensorBoard reads. Needs neither TensorBoard nor protobuf, nor torch."""
