"""What learning curves are read as: columns, statistics, windows and tables."""
